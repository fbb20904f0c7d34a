#include "core/client/rest_metrics.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "core/client/rest_entries.h"
#include "core/codec/metrics.h"

namespace det::client {

// The place in the low bits, the source above them.
struct MetricReader::Cursor {
  static constexpr int place_bits = 40;

  size_t source = 0;
  int64_t place = 0;

  static Cursor from(int64_t number) {
    return {static_cast<size_t>(number >> place_bits), number & ((int64_t{1} << place_bits) - 1)};
  }
  int64_t number() const { return (static_cast<int64_t>(source) << place_bits) + place; }

  void next_source() { *this = {source + 1, 0}; }
};

namespace {

bool is_of_workloads(const std::string &group) {
  return group == "training" || group == "validation";
}

std::vector<std::string> other_groups(const codec::Trial &trial) {
  std::vector<std::string> groups;
  if (!trial.summary) return groups;
  for (const auto &[name, metrics] : trial.summary->items())
    if (!is_of_workloads(group_name(name))) groups.push_back(name);
  std::ranges::sort(groups);
  return groups;
}

// A master knows the group of a series by its name.
std::string_view group_of_series(const codec::ProfilerSeries &series) {
  constexpr std::pair<std::string_view, std::string_view> known[] = {
      {"cpu_", "cpu"},     {"gpu_", "gpu"},   {"disk_", "disk"},
      {"net_", "network"}, {"mem", "memory"}, {"free_memory", "memory"}};
  for (const auto &[prefix, group] : known)
    if (series.name.starts_with(prefix)) return group;
  return {};
}

}  // namespace

void MetricReader::add_workloads(int64_t trial_id, const std::optional<std::string> &group,
                                 const engine::Page &page, Cursor &cursor, Json &entries) {
  engine::Page rest = page;
  rest.after = cursor.place;
  rest.limit -= static_cast<int64_t>(entries.size());
  codec::ListPart part = part_of(rest, "");
  part.sort.reset();  // by step
  const auto answer = session_->call(
      codec::ListWorkloads{.trial_id = trial_id, .part = part, .with_batches = true});
  for (const codec::Workload &workload : answer.workloads)
    for (const auto &[name, report] :
         {std::pair("training", &workload.training), {"validation", &workload.validation}})
      if (*report && (!group || *group == name)) entries.push_back(report_entry(name, **report));
  const Json next = cursor_behind(cursor.place, answer.workloads.size(), answer.pagination);
  if (next.is_null()) cursor.next_source();
  else cursor.place = next.get<int64_t>();
}

std::vector<codec::StoredReport> MetricReader::reports_of(int64_t trial_id,
                                                          const std::string &group) const {
  std::vector<codec::StoredReport> reports;
  auto answer = session_->call(codec::ListReports{.trial_id = trial_id, .group = group});
  for (auto &part : answer.parts)
    for (codec::StoredReport &report : part.reports) {
      if (report.group.empty()) report.group = group;  // not every master repeats it
      if (!report.archived) reports.push_back(std::move(report));
    }
  return reports;
}

// The values of a report have one time in all series.
std::vector<codec::StoredReport> MetricReader::measured(int64_t trial_id,
                                                        const std::string &group) const {
  std::map<int64_t, Json> by_time;
  const auto all = session_->call(codec::ListProfilerSeries{trial_id});
  for (const auto &some : all.parts)
    for (const codec::ProfilerSeries &series : some.series) {
      if (series.metric_type != "PROFILER_METRIC_TYPE_SYSTEM" || group_of_series(series) != group)
        continue;
      const auto answer = session_->call(codec::ReadProfilerSeries{trial_id, series});
      for (const auto &part : answer.parts)
        for (size_t i = 0; i < std::min(part.values.size(), part.times.size()); ++i) {
          Json *values = &by_time[part.times[i].us];
          for (const std::string &label : {series.agent_id, series.gpu_uuid})
            if (!label.empty()) values = &(*values)[label];
          (*values)[series.name] = part.values[i];
        }
    }
  std::vector<codec::StoredReport> reports;
  for (auto &[us, values] : by_time)
    reports.push_back({.trial_id = trial_id,
                       .end_time = codec::Time{us},
                       .group = group,
                       .metrics = std::move(values)});
  return reports;
}

void MetricReader::add_reports(int64_t trial_id, const std::string &group, const engine::Page &page,
                               Cursor &cursor, Json &entries) {
  if (cursor.place == 0 || kept_.trial_id != trial_id || kept_.group != group) {
    kept_ = {trial_id, group, {}};
    kept_.reports =
        codec::is_of_profiler(group) ? measured(trial_id, group) : reports_of(trial_id, group);
    if (page.descending) std::ranges::reverse(kept_.reports);
  }
  const auto count = static_cast<int64_t>(kept_.reports.size());
  for (; cursor.place < count && static_cast<int64_t>(entries.size()) < page.limit; ++cursor.place)
    entries.push_back(report_entry(kept_.reports[static_cast<size_t>(cursor.place)]));
  if (cursor.place < count) return;
  kept_ = {};
  cursor.next_source();
}

Json MetricReader::list(const codec::Trial &trial, const std::optional<std::string> &group,
                        const engine::Page &page) {
  std::vector<std::string> groups = other_groups(trial);
  if (group) std::erase_if(groups, [&](const std::string &name) { return name != *group; });
  // A trial's summary has none of the profiler.
  if (group && groups.empty() && codec::is_of_profiler(*group)) groups.push_back(*group);
  const size_t sources = 1 + groups.size();
  Cursor cursor = Cursor::from(page.after);
  if (cursor.source == 0 && group && !is_of_workloads(*group)) cursor.next_source();
  Json entries = Json::array();
  while (cursor.source < sources && static_cast<int64_t>(entries.size()) < page.limit) {
    if (cursor.source == 0) add_workloads(trial.id, group, page, cursor, entries);
    else add_reports(trial.id, groups[cursor.source - 1], page, cursor, entries);
  }
  return {{"metrics", std::move(entries)},
          {"next", cursor.source < sources ? Json(cursor.number()) : Json()}};
}

}  // namespace det::client
