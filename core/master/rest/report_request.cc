#include "core/master/rest/report_request.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/clock.h"
#include "core/base/log/log.h"
#include "core/codec/logs.h"
#include "core/codec/metrics.h"
#include "core/codec/run.h"

namespace det::master {

namespace {

constexpr size_t lines_at_once = 1000;
// A report this old was held up: then the master is told when it was made.
constexpr int64_t late_us = 5'000'000;

Json values_of(const Report &report) {
  if (report.kind == ReportKind::metrics_json) return parse_json_object(report.text, "metrics");
  Json values = Json::object();
  for (const MetricValue &value : report.values) values[std::string(value.name)] = value.value;
  return values;
}

std::vector<Json> batches_of(const Report &report) {
  if (report.batches.empty()) return {};
  return parse_json(report.batches, "batch metrics").get<std::vector<Json>>();
}

// Masters know fewer groups of the profiler than there are, and refuse others without steps. What
// they do not know goes to them as a part of one that they do: {agent: {"process": {...}}}.
constexpr std::string_view carrier = "cpu";

void put_in_known_group(codec::ReportMetrics &call) {
  if (call.steps_completed || codec::is_of_profiler(call.group)) return;
  for (auto &[agent, values] : call.values.items()) {
    Json part = {{call.group, std::move(values)}};
    values = std::move(part);
  }
  call.group = carrier;
}

bool needs_carrier(const Report &report) {
  return report.kind == ReportKind::metrics_json && report.steps == no_steps &&
         !codec::is_of_profiler(report.group);
}

// Series that a row of the group lacks, masters leave out of their lists: a sample is one row.
bool is_of_sample(const ReportRequest &request, const Report &part) {
  constexpr int64_t together_us = 500'000;
  const Report &sample = *request.report;
  return sample.rank == part.rank && std::abs(part.time_us - sample.time_us) < together_us &&
         std::ranges::none_of(request.parts,
                              [&](const Report *other) { return other->group == part.group; });
}

Json values_of(const ReportRequest &request) {
  Json values = values_of(*request.report);
  for (const Report *part : request.parts) {
    const Json found = values_of(*part);
    for (const auto &[agent, its] : found.items()) values[agent][std::string(part->group)] = its;
  }
  return values;
}

codec::ReportMetrics metrics_of(const ReportRequest &request, const ReportOrigin &origin,
                                codec::WireVersion version) {
  const Report &report = *request.report;
  codec::ReportMetrics call{.trial_id = origin.trial_id,
                            .run_id = origin.run_id,
                            .group = std::string(report.group),
                            .steps_completed = report.steps,
                            .values = values_of(request),
                            .batches = batches_of(report)};
  const bool of_profiler = report.steps == no_steps || codec::is_of_profiler(report.group);
  if (of_profiler) call.steps_completed.reset();
  put_in_known_group(call);
  if (version >= codec::WireVersion::v0_33 && (of_profiler || now_us() - report.time_us > late_us))
    call.report_time = codec::Time{report.time_us};
  return call;
}

std::vector<codec::LogLine> lines_of(const ReportRequest &request, const ReportOrigin &origin) {
  std::vector<codec::LogLine> lines;
  for (const Report *report : request.lines) {
    codec::LogLine &line = lines.emplace_back();
    line.task_id = origin.task_id;
    if (origin.managed) line.allocation_id = origin.allocation_id;
    line.rank = origin.rank;
    line.time = codec::Time{report->time_us};
    line.level = (origin.managed ? "LOG_LEVEL_" : std::string()) +
                 log_level_name(static_cast<LogLevel>(report->level));
    line.source = "task";
    line.text = std::string(report->text) + "\n";
  }
  return lines;
}

// A fraction of a whole number of units, without the last bit that a division cost.
double in_units(double fraction, uint64_t length) {
  const double exact = fraction * static_cast<double>(length);
  const double whole = std::round(exact);
  return std::abs(exact - whole) < 1e-9 * std::max(1.0, whole) ? whole : exact;
}

}  // namespace

std::vector<ReportRequest> make_requests(std::span<const Report> reports, uint64_t delivered,
                                         const std::set<uint64_t> &done) {
  std::vector<ReportRequest> requests;
  requests.reserve(reports.size());
  constexpr size_t none = SIZE_MAX;
  size_t log = none, sample = none;
  // What was said earlier of a status or of progress is overtaken.
  std::array<size_t, 2> latest{none, none};
  for (const Report &report : reports) {
    if (report.sequence <= delivered || done.contains(report.sequence)) continue;
    if (sample != none && needs_carrier(report) && is_of_sample(requests[sample], report)) {
      requests[sample].sequences.push_back(report.sequence);
      requests[sample].parts.push_back(&report);
      continue;
    }
    size_t *shared = nullptr;
    if (report.kind == ReportKind::log) shared = &log;
    if (report.kind == ReportKind::status) shared = &latest[0];
    if (report.kind == ReportKind::progress) shared = &latest[1];
    if (shared == nullptr || *shared == none || requests[*shared].lines.size() == lines_at_once) {
      requests.push_back({report.kind, {}, nullptr});
      if (shared != nullptr) *shared = requests.size() - 1;
    }
    ReportRequest &request = shared != nullptr ? requests[*shared] : requests.back();
    request.sequences.push_back(report.sequence);
    request.report = &report;
    if (report.kind == ReportKind::log) request.lines.push_back(&report);
    if (report.kind == ReportKind::metrics_json && report.group == carrier)
      sample = requests.size() - 1;
  }
  return requests;
}

void put_training_first(std::vector<ReportRequest> &requests) {
  std::unordered_set<int64_t> validated;
  std::unordered_map<int64_t, std::vector<ReportRequest>> late;  // training, by step
  std::vector<ReportRequest> rest;
  rest.reserve(requests.size());
  for (ReportRequest &request : requests) {
    const int64_t step = request.report->steps;
    if (request.is_metrics() && request.report->group == "validation") validated.insert(step);
    const bool is_late =
        request.is_metrics() && request.report->group == "training" && validated.contains(step);
    (is_late ? late[step] : rest).push_back(std::move(request));
  }
  requests.clear();
  for (ReportRequest &request : rest) {
    if (request.is_metrics() && request.report->group == "validation")
      if (auto found = late.extract(request.report->steps); !found.empty())
        for (ReportRequest &training : found.mapped()) requests.push_back(std::move(training));
    requests.push_back(std::move(request));
  }
}

bool is_wanted(const ReportRequest &request, const ReportOrigin &origin,
               codec::WireVersion version) {
  if (request.kind == ReportKind::progress)
    return origin.managed || version >= codec::WireVersion::v0_38;
  if (request.kind == ReportKind::log)
    return !origin.managed || codec::has_call<codec::ShipTaskLogs>(version);
  if (request.is_metrics() && request.report->steps == no_steps)
    return version >= codec::WireVersion::v0_33;
  return true;
}

http::HttpCall send_request(MasterSession &session, const ReportOrigin &origin,
                            const ReportRequest &request, uint64_t operation_length,
                            const CallOptions &attempt) {
  const Report &report = *request.report;
  switch (request.kind) {
    case ReportKind::status:
      return session.send(codec::SetStatus{origin.trial_id, std::string(report.text)}, attempt);
    case ReportKind::progress: {
      const bool in_fractions =
          session.version() >= codec::WireVersion::v0_38 || operation_length == 0;
      return session.send(
          codec::ReportProgress{origin.trial_id, in_fractions
                                                     ? report.number
                                                     : in_units(report.number, operation_length)},
          attempt);
    }
    case ReportKind::log:
      if (origin.managed)
        return session.send(codec::ShipTaskLogs{lines_of(request, origin)}, attempt);
      return session.send(codec::ShipLogs{lines_of(request, origin)}, attempt);
    default:
      return session.send(metrics_of(request, origin, session.version()), attempt);
  }
}

void read_response(MasterSession &session, const ReportRequest &request, const ReportOrigin &origin,
                   const http::HttpResponse &answer) {
  switch (request.kind) {
    case ReportKind::status:
      return static_cast<void>(session.read<codec::SetStatus>(answer));
    case ReportKind::progress:
      return static_cast<void>(session.read<codec::ReportProgress>(answer));
    case ReportKind::log:
      if (origin.managed) static_cast<void>(session.read<codec::ShipTaskLogs>(answer));
      else static_cast<void>(session.read<codec::ShipLogs>(answer));
      return;
    default:
      return static_cast<void>(session.read<codec::ReportMetrics>(answer));
  }
}

engine::CheckpointReport checkpoint_of(const ReportRequest &request) {
  return engine::checkpoint_report_from_json(unpack(request.report->text, "a checkpoint's report"));
}

std::string name_of(const ReportRequest &request) {
  switch (request.kind) {
    case ReportKind::status:
      return "a status";
    case ReportKind::progress:
      return "progress";
    case ReportKind::log:
      return std::to_string(request.lines.size()) + " lines of log";
    case ReportKind::checkpoint:
      return "checkpoint " + checkpoint_of(request).id;
    default:
      return "a report of group '" + std::string(request.report->group) + "'" +
             (request.report->steps == no_steps
                  ? ""
                  : " at step " + std::to_string(request.report->steps));
  }
}

Json to_json(const ReportRequest &request, const std::string &reason) {
  const Report &report = *request.report;
  Json json{{"time", iso8601(report.time_us)}, {"refused", reason}};
  switch (request.kind) {
    case ReportKind::status:
      json["status"] = report.text;
      break;
    case ReportKind::progress:
      json["progress"] = report.number;
      break;
    case ReportKind::log:
      for (const Report *line : request.lines) json["log"].push_back(line->text);
      break;
    case ReportKind::checkpoint:
      json["checkpoint"] = engine::to_json(checkpoint_of(request));
      break;
    default:
      json["group"] = report.group;
      json["steps_completed"] = report.steps;
      json["metrics"] = values_of(request);
      json["batch_metrics"] = batches_of(report);
  }
  return json;
}

codec::ReportMetrics metrics_from_json(const Json &refused, const ReportOrigin &origin) {
  codec::ReportMetrics call{.trial_id = origin.trial_id,
                            .run_id = origin.run_id,
                            .group = refused.at("group").get<std::string>(),
                            .steps_completed = refused.at("steps_completed").get<int64_t>(),
                            .values = refused.at("metrics"),
                            .batches = refused.at("batch_metrics").get<std::vector<Json>>()};
  if (const auto time = parse_iso8601(refused.at("time").get<std::string>()))
    call.report_time = codec::Time{*time};
  if (call.steps_completed == no_steps || codec::is_of_profiler(call.group))
    call.steps_completed.reset();
  put_in_known_group(call);
  return call;
}

}  // namespace det::master
