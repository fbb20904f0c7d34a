#include "core/master/rest/parcel.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/clock.h"
#include "core/base/log.h"
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
bool is_of_sample(const Parcel &parcel, const Report &part) {
  constexpr int64_t together_us = 500'000;
  const Report &sample = *parcel.report;
  return sample.rank == part.rank && std::abs(part.time_us - sample.time_us) < together_us &&
         std::ranges::none_of(parcel.parts,
                              [&](const Report *other) { return other->group == part.group; });
}

Json values_of(const Parcel &parcel) {
  Json values = values_of(*parcel.report);
  for (const Report *part : parcel.parts) {
    const Json found = values_of(*part);
    for (const auto &[agent, its] : found.items()) values[agent][std::string(part->group)] = its;
  }
  return values;
}

codec::ReportMetrics metrics_of(const Parcel &parcel, const ReportOrigin &origin,
                                codec::WireVersion version) {
  const Report &report = *parcel.report;
  codec::ReportMetrics call{.trial_id = origin.trial_id,
                            .run_id = origin.run_id,
                            .group = std::string(report.group),
                            .steps_completed = report.steps,
                            .values = values_of(parcel),
                            .batches = batches_of(report)};
  const bool of_profiler = report.steps == no_steps || codec::is_of_profiler(report.group);
  if (of_profiler) call.steps_completed.reset();
  put_in_known_group(call);
  if (version >= codec::WireVersion::v0_33 && (of_profiler || now_us() - report.time_us > late_us))
    call.report_time = codec::Time{report.time_us};
  return call;
}

std::vector<codec::LogLine> lines_of(const Parcel &parcel, const ReportOrigin &origin) {
  std::vector<codec::LogLine> lines;
  for (const Report *report : parcel.lines) {
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

std::vector<Parcel> pack_parcels(std::span<const Report> reports, uint64_t delivered,
                                 const std::set<uint64_t> &done) {
  std::vector<Parcel> parcels;
  parcels.reserve(reports.size());
  constexpr size_t none = SIZE_MAX;
  size_t log = none, sample = none;
  // What was said earlier of a status or of progress is overtaken.
  std::array<size_t, 2> latest{none, none};
  for (const Report &report : reports) {
    if (report.sequence <= delivered || done.contains(report.sequence)) continue;
    if (sample != none && needs_carrier(report) && is_of_sample(parcels[sample], report)) {
      parcels[sample].sequences.push_back(report.sequence);
      parcels[sample].parts.push_back(&report);
      continue;
    }
    size_t *shared = nullptr;
    if (report.kind == ReportKind::log) shared = &log;
    if (report.kind == ReportKind::status) shared = &latest[0];
    if (report.kind == ReportKind::progress) shared = &latest[1];
    if (shared == nullptr || *shared == none || parcels[*shared].lines.size() == lines_at_once) {
      parcels.push_back({report.kind, {}, nullptr});
      if (shared != nullptr) *shared = parcels.size() - 1;
    }
    Parcel &parcel = shared != nullptr ? parcels[*shared] : parcels.back();
    parcel.sequences.push_back(report.sequence);
    parcel.report = &report;
    if (report.kind == ReportKind::log) parcel.lines.push_back(&report);
    if (report.kind == ReportKind::metrics_json && report.group == carrier)
      sample = parcels.size() - 1;
  }
  return parcels;
}

bool is_wanted(const Parcel &parcel, const ReportOrigin &origin, codec::WireVersion version) {
  if (parcel.kind == ReportKind::progress)
    return origin.managed || version >= codec::WireVersion::v0_38;
  if (parcel.kind == ReportKind::log)
    return !origin.managed || codec::has_call<codec::ShipTaskLogs>(version);
  if (parcel.is_metrics() && parcel.report->steps == no_steps)
    return version >= codec::WireVersion::v0_33;
  return true;
}

http::HttpCall send_parcel(MasterSession &session, const ReportOrigin &origin, const Parcel &parcel,
                           uint64_t operation_length, const CallOptions &attempt) {
  const Report &report = *parcel.report;
  switch (parcel.kind) {
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
        return session.send(codec::ShipTaskLogs{lines_of(parcel, origin)}, attempt);
      return session.send(codec::ShipLogs{lines_of(parcel, origin)}, attempt);
    default:
      return session.send(metrics_of(parcel, origin, session.version()), attempt);
  }
}

void read_parcel_answer(MasterSession &session, const Parcel &parcel, const ReportOrigin &origin,
                        const http::HttpAnswer &answer) {
  switch (parcel.kind) {
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

engine::CheckpointReport checkpoint_of(const Parcel &parcel) {
  return engine::checkpoint_report_from_json(unpack(parcel.report->text, "a checkpoint's report"));
}

std::string name_of(const Parcel &parcel) {
  switch (parcel.kind) {
    case ReportKind::status:
      return "a status";
    case ReportKind::progress:
      return "progress";
    case ReportKind::log:
      return std::to_string(parcel.lines.size()) + " lines of log";
    case ReportKind::checkpoint:
      return "checkpoint " + checkpoint_of(parcel).id;
    default:
      return "a report of group '" + std::string(parcel.report->group) + "'" +
             (parcel.report->steps == no_steps
                  ? ""
                  : " at step " + std::to_string(parcel.report->steps));
  }
}

Json to_json(const Parcel &parcel, const std::string &reason) {
  const Report &report = *parcel.report;
  Json json{{"time", iso8601(report.time_us)}, {"refused", reason}};
  switch (parcel.kind) {
    case ReportKind::status:
      json["status"] = report.text;
      break;
    case ReportKind::progress:
      json["progress"] = report.number;
      break;
    case ReportKind::log:
      for (const Report *line : parcel.lines) json["log"].push_back(line->text);
      break;
    case ReportKind::checkpoint:
      json["checkpoint"] = engine::to_json(checkpoint_of(parcel));
      break;
    default:
      json["group"] = report.group;
      json["steps_completed"] = report.steps;
      json["metrics"] = values_of(parcel);
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
