// A store of its own for each test, and short ways to run trials and report in it.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/engine/runs/joined_run.h"
#include "core/engine/runs/live_run.h"

namespace det::test {

class Home {
 public:
  Home() {
    const char *base = std::getenv("TMPDIR");
    std::string path = std::string(base != nullptr ? base : "/tmp") + "/detcore-test-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) std::abort();
    path_ = path;
  }
  Home(const Home &) = delete;
  Home &operator=(const Home &) = delete;
  ~Home() { std::filesystem::remove_all(path_); }

  const std::filesystem::path &path() const { return path_; }
  std::filesystem::path store() const { return path_ / ".detcore"; }

  engine::RunRequest request() const {
    engine::RunRequest request;
    request.store_directory = store();
    request.name = "digits";
    request.command = "./digits --fast";
    // A loaded machine with a sanitizer is slow.
    request.options.busy_timeout = std::chrono::minutes(2);
    return request;
  }
  std::unique_ptr<engine::RunBackend> start() const { return engine::start_live_run(request()); }
  std::unique_ptr<engine::RunBackend> start(const Json &config) const {
    engine::RunRequest asked = request();
    asked.config = config;
    return engine::start_live_run(asked);
  }
  std::unique_ptr<engine::RunBackend> resume(int64_t trial_id) const {
    engine::RunRequest asked = request();
    asked.trial_id = trial_id;
    return engine::start_live_run(asked);
  }

  // Another connection, to look at what is stored.
  engine::Database look() const { return engine::open_store(store(), false, {}); }
  int64_t count(const std::string &sql) const {
    engine::Database database = look();
    engine::Query query = database.query(sql);
    return query.next() ? query.integer(0) : -1;
  }
  std::string text(const std::string &sql) const {
    engine::Database database = look();
    engine::Query query = database.query(sql);
    return query.next() ? query.text(0) : std::string("(no row)");
  }

 private:
  std::filesystem::path path_;
};

inline Report metrics(uint64_t sequence, std::string_view group, int64_t steps,
                      std::vector<MetricValue> values) {
  Report report;
  report.sequence = sequence;
  report.group = group;
  report.steps = steps;
  report.values = std::move(values);
  return report;
}

inline Report metrics_json(uint64_t sequence, std::string_view group, int64_t steps,
                           std::string_view text, std::string_view batches = {}) {
  Report report;
  report.sequence = sequence;
  report.kind = ReportKind::metrics_json;
  report.group = group;
  report.steps = steps;
  report.text = text;
  report.batches = batches;
  return report;
}

inline JournalKey journal_of(const engine::RunBackend &run) {
  return {run.info().trial_id, run.info().run_id, 0, run.journal_id()};
}

inline Delivery deliver(engine::RunBackend &run, const std::vector<Report> &reports) {
  return run.deliver(journal_of(run), reports);
}

// The code with which `call` fails; Code::internal stands for none.
template <class Call>
Code code_of(const Call &call, std::string *message = nullptr) {
  try {
    call();
  } catch (const Error &e) {
    if (message != nullptr) *message = e.what();
    return e.code;
  }
  return Code::internal;
}

inline bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != text.npos;
}

}  // namespace det::test

#define assert_code(code, ...) \
  assert_int_equal(static_cast<int>(code), static_cast<int>(code_of([&] { __VA_ARGS__; })))
