// Reports on their way to a stand-in of a master.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/master/rest/delivery.h"
#include "core/master/rest/final_responses.h"
#include "tests/patience.h"
#include "tests/rest/server.h"
#include "tests/temporary_directory.h"

namespace det::test {

inline Report report_of(uint64_t sequence, ReportKind kind) {
  Report report;
  report.sequence = sequence;
  report.time_us = now_us();
  report.kind = kind;
  return report;
}

inline Report metrics_report(uint64_t sequence, std::string_view group, int64_t steps,
                             double loss) {
  Report report = report_of(sequence, ReportKind::metrics);
  report.group = group;
  report.steps = steps;
  report.values = {{"loss", loss}};
  return report;
}

// With metrics per batch; `text` and `batches` are borrowed.
inline Report json_report(uint64_t sequence, std::string_view group, int64_t steps,
                          std::string_view text, std::string_view batches = {}) {
  Report report = report_of(sequence, ReportKind::metrics_json);
  report.group = group;
  report.steps = steps;
  report.text = text;
  report.batches = batches;
  return report;
}

inline Report text_report(uint64_t sequence, ReportKind kind, std::string_view text,
                          int level = 0) {
  Report report = report_of(sequence, kind);
  report.text = text;
  report.level = level;
  return report;
}

inline Report progress_report(uint64_t sequence, double fraction) {
  Report report = report_of(sequence, ReportKind::progress);
  report.number = fraction;
  return report;
}

// Of training at steps 1 to `count`, with the sequences 8, 16, ...
inline std::vector<Report> training_reports(int64_t count, std::string_view group = "training") {
  std::vector<Report> reports;
  for (int64_t step = 1; step <= count; ++step)
    reports.push_back(metrics_report(static_cast<uint64_t>(step) * 8, group, step,
                                     static_cast<double>(step) / 4));
  return reports;
}

class Delivering {
 public:
  explicit Delivering(const std::string &version, const Json &setup = Json::object())
      : master(master::fresh_master(version, setup)), session(connect()) {
    begin();
  }

  Delivery deliver(std::span<const Report> reports) { return delivery->deliver({}, reports); }

  // As after a kill: another process takes over the directory.
  void begin(master::ReportOrigin origin = {true, 7, 1, 3, "1.aaaa", "1.aaaa.1"}) {
    delivery.reset();
    delivery.emplace(session, std::move(origin), directory.path(), std::make_shared<Logger>(),
                     patience);
  }

  std::shared_ptr<master::MasterSession> connect() const {
    return std::make_shared<master::MasterSession>(
        master::SessionOptions{.url = master.url(),
                               .credential = {master::Credential::Kind::task, "task-token"}},
        std::make_shared<Logger>());
  }

  // The bodies of the requests to paths that end so, in the order of their arrival.
  std::vector<Json> asked(const std::string &path_end) const {
    std::vector<Json> bodies;
    for (const Json &request : master.requests()) {
      if (!request["path"].get<std::string>().ends_with(path_end)) continue;
      // That of one which was not carried out is a text still.
      const Json &body = request["body"];
      bodies.push_back(body.is_string() ? Json::parse(body.get<std::string>()) : body);
    }
    return bodies;
  }

  // The values under "loss" by step, of the rows of a group; each must be there once.
  std::map<int64_t, double> stored(const std::string &group = "training") const {
    std::map<int64_t, double> found;
    const Json state = master.state();
    for (const Json &row : state["metrics"])
      if (row["group"] == group && !found.emplace(row["step"], row["values"]["loss"]).second)
        throw std::runtime_error("a step is there twice");
    return found;
  }

  std::string refused() {
    const auto path = delivery->refused().path();
    return std::filesystem::exists(path) ? read_file(path) : "";
  }

  const master::FakeMaster &master;
  TemporaryDirectory directory;
  std::chrono::milliseconds patience{TEST_PATIENCE_MS};
  std::shared_ptr<master::MasterSession> session;
  std::optional<master::RestDelivery> delivery;
};

}  // namespace det::test
