#include "core/client/rest_trials.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/text/dotted_name.h"
#include "core/client/client.h"
#include "core/client/rest_entries.h"
#include "core/client/rest_walk.h"
#include "core/codec/metrics.h"
#include "core/codec/unmanaged.h"
#include "core/engine/records/find.h"

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
  const auto answer =
      session_.call(codec::ListWorkloads{.trial_id = trial_id, .part = part, .with_batches = true});
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
  auto answer = session_.call(codec::ListReports{.trial_id = trial_id, .group = group});
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
  const auto all = session_.call(codec::ListProfilerSeries{trial_id});
  for (const auto &some : all.parts)
    for (const codec::ProfilerSeries &series : some.series) {
      if (series.metric_type != "PROFILER_METRIC_TYPE_SYSTEM" || group_of_series(series) != group)
        continue;
      const auto answer = session_.call(codec::ReadProfilerSeries{trial_id, series});
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

namespace {

// Lines come to the master up to so much later than lines of other sources that are newer.
constexpr int64_t lateness_us = 60'000'000;

int64_t id_of(const codec::StoredLogLine &line, const master::MasterSession &session) {
  int64_t id = 0;
  const char *end = line.id.data() + line.id.size();
  if (line.id.empty() || std::from_chars(line.id.data(), end, id).ptr != end || id <= 0)
    throw Error(Code::unsupported,
                "reading the trial's log: " + session.url() +
                    " keeps its logs where lines have no numbers, so they cannot be read in parts; "
                    "look at them in the master's web pages");
  return id;
}

}  // namespace

codec::ListTrialLogs LogReader::request(int64_t trial_id, const engine::Page &page) const {
  const engine::Page whole{0, page.limit, page.descending};
  codec::ListTrialLogs call{.trial_id = trial_id, .follow = false, .part = part_of(whole, "")};
  call.part.offset.reset();
  call.part.sort.reset();
  if (page.after == 0 || mark_.trial_id != trial_id || mark_.id != page.after) return call;
  if (page.descending) call.before = codec::Time{mark_.time.us + lateness_us};
  else call.after = codec::Time{mark_.time.us - lateness_us};
  return call;
}

Json LogReader::list(int64_t trial_id, const engine::Page &page) {
  codec::ListTrialLogs call = request(trial_id, page);
  const auto wanted = static_cast<size_t>(*call.part.limit);
  // One more tells whether there are more.
  for (int64_t limit = *call.part.limit + 1;; limit *= 2) {
    call.part.limit = limit;
    const auto lines = session_.call(call).lines;
    const bool is_all = static_cast<int64_t>(lines.size()) < limit;
    std::vector<const codec::StoredLogLine *> unread;
    for (const codec::StoredLogLine &line : lines) {
      const int64_t id = id_of(line, session_);
      if (page.after == 0 || (page.descending ? id < page.after : id > page.after))
        unread.push_back(&line);
    }
    if (!is_all && unread.size() <= wanted) continue;  // mostly what was read before
    Json entries = Json::array();
    for (size_t i = 0; i < std::min(wanted, unread.size()); ++i)
      entries.push_back(log_entry(*unread[i]));
    if (unread.size() <= wanted) return {{"logs", std::move(entries)}, {"next", nullptr}};
    const codec::StoredLogLine &last = *unread[wanted - 1];
    const int64_t next = id_of(last, session_);
    mark_ = {last.time ? trial_id : 0, next, last.time.value_or(codec::Time())};
    return {{"logs", std::move(entries)}, {"next", next}};
  }
}

namespace {

ListedPart part_from(const codec::ListTrials::Response &list, const codec::Experiment &experiment,
                     const engine::Filter &filter) {
  ListedPart part{{}, list.pagination};
  for (const codec::Trial &trial : list.trials)
    part.entries.push_back(entry_or_null(trial_entry(trial, experiment), filter));
  return part;
}

// Of every user.
Json list_all_trials(master::MasterSession &session, const engine::Page &page) {
  const auto ask = [&](const codec::Experiment &experiment, int64_t offset, int64_t limit) {
    return session.send(
        codec::ListTrials{experiment.id, part_of({offset, limit, page.descending}, sort_by_id)});
  };
  const auto read = [&](const codec::Experiment &experiment, const http::HttpResponse &answer) {
    return part_from(session.read<codec::ListTrials>(answer), experiment, page.filter);
  };
  const auto count = [&](const codec::Experiment &of) {
    return matches(of, page.filter) ? of.trial_count : 0;
  };
  return walk_experiments(session, {"trials", count, ask, read}, page);
}

}  // namespace

codec::Trial RestTrials::find(int64_t id, const std::string &tried) {
  try {
    return session_.call(codec::GetTrial{id}).trial;
  } catch (const Error &error) {
    if (error.http_status != 404) throw;
    throw_not_found(tried, "trial", std::to_string(id), session_.url(), "det ls");
  }
}

Json RestTrials::list(int64_t experiment_id, const engine::Page &page) {
  if (page.by_metric) require_one_experiment(experiment_id);
  if (experiment_id == 0) return list_all_trials(session_, page);
  const codec::Experiment experiment = experiments_.find(experiment_id, "listing trials");
  engine::Filter filter = page.filter;
  if (filter.archived == engine::Archived::without) filter.archived = engine::Archived::with;
  if (!matches(experiment, filter)) return {{"trials", Json::array()}, {"next", nullptr}};
  if (page.by_metric) return list_by_metric(experiment, page);
  return filter_page("trials", page, [&](const engine::Page &at) {
    return part_from(session_.call(codec::ListTrials{experiment_id, part_of(at, sort_by_id)}),
                     experiment, filter);
  });
}

// Not left to the master: its order is not that of the search in every version.
Json RestTrials::list_by_metric(const codec::Experiment &experiment, const engine::Page &page) {
  std::vector<Json> trials = experiments_.all_trials(experiment);
  std::erase_if(trials, [&](const Json &trial) { return !matches(trial, page.filter); });
  sort_by_metric(trials, experiment);
  if (page.descending) std::ranges::reverse(trials);
  Json part = Json::array();
  auto at = static_cast<size_t>(page.after);
  for (; at < trials.size() && static_cast<int64_t>(part.size()) < page.limit; ++at)
    part.push_back(std::move(trials[at]));
  return {{"trials", std::move(part)}, {"next", at < trials.size() ? Json(at) : Json()}};
}

Json RestTrials::get(int64_t trial_id) {
  const codec::Trial trial = find(trial_id, "reading a trial");
  Json entry = trial_entry(trial, experiments_.find(trial.experiment_id, "reading a trial"));
  entry["trial_seed"] = nullptr;
  entry["task_id"] = trial.task_id;
  entry["early_exit"] = nullptr;
  entry["metadata"] = trial.metadata ? *trial.metadata : Json();
  entry["runs"] = nullptr;
  entry["operations"] = nullptr;
  entry["latest_checkpoint"] = latest_checkpoint(trial_id);
  entry["metric_names"] = names_in(trial, 200);
  entry["waiting"] = nullptr;
  entry["error"] = nullptr;
  entry["supervised"] = nullptr;
  entry["resume"] = nullptr;
  return entry;
}

Json RestTrials::latest_checkpoint(int64_t trial_id) {
  engine::Page page{0, 10, true};  // each comes with the whole configuration
  for (Json next = 0; !next.is_null();) {
    page.after = next.get<int64_t>();
    const auto list =
        session_.call(codec::ListTrialCheckpoints{trial_id, part_of(page, "SORT_BY_BATCH_NUMBER")});
    for (const codec::Checkpoint &checkpoint : list.checkpoints)
      if (checkpoint.state == codec::CheckpointState::completed)
        return checkpoint_entry(checkpoint);
    next = cursor_behind(page.after, list.checkpoints.size(), list.pagination);
  }
  return {};
}

// By group. Masters before 0.33 do not tell.
Json RestTrials::names_in(const codec::Trial &trial, int64_t most) {
  std::map<std::string, std::set<std::string>> groups;
  if (trial.summary) {
    for (const auto &[group, metrics] : trial.summary->items())
      for (const auto &[name, summary] : metrics.items()) groups[group_name(group)].insert(name);
  } else {
    const std::lock_guard guard(mutex_);
    engine::Page page{0, std::min<int64_t>(most, 1000), false};
    for (Json next = 0; !next.is_null() && most > 0; most -= page.limit) {
      page.after = next.get<int64_t>();
      const Json part = metrics_.list(trial, std::nullopt, page);
      for (const Json &report : part.at("metrics")) {
        std::set<std::string> &names = groups[report.at("group").get<std::string>()];
        each_dotted_name(report.at("metrics"),
                         [&](const std::string &name, const Json &) { names.insert(name); });
      }
      next = part.at("next");
    }
  }
  return groups;
}

std::string RestTrials::metrics_text(int64_t trial_id, const std::optional<std::string> &group,
                                     const engine::Page &page) {
  engine::require_no_filter(page, "listing metrics");
  const codec::Trial trial = find(trial_id, "listing metrics");
  const std::lock_guard guard(mutex_);
  return to_wire(metrics_.list(trial, group, page));
}

Json RestTrials::metric_names(int64_t trial_id) {
  return names_in(find(trial_id, "listing the names of metrics"), INT64_MAX);
}

Json RestTrials::logs(int64_t trial_id, const engine::Page &page) {
  engine::require_no_filter(page, "listing logs");
  const std::lock_guard guard(mutex_);
  try {
    return logs_.list(trial_id, page);
  } catch (const Error &error) {
    if (error.http_status != 404) throw;
    throw_not_found("listing logs", "trial", std::to_string(trial_id), session_.url(), "det ls");
  }
}

// Masters know an external id together with that of the experiment only.
Json RestTrials::find_by_text(const std::string &text) {
  const engine::TrialText trial = engine::read_trial_text(text);
  if (trial.id) return get(*trial.id);
  const std::string tried = "looking for a trial";
  const size_t slash = trial.external_id.find('/');
  if (slash == std::string::npos)
    throw Error(Code::unsupported, tried + ": " + session_.url() + " does not know \"" +
                                       trial.external_id +
                                       "\" by itself; give EXPERIMENT/TRIAL, the external ids of "
                                       "both, or the number of the trial");
  int64_t id = 0;
  try {
    id = session_
             .call(codec::GetTrialByExternalId{trial.external_id.substr(0, slash),
                                               trial.external_id.substr(slash + 1)})
             .trial.id;
  } catch (const Error &error) {
    // Masters answer 500 where there is none.
    if (error.http_status != 404 && error.http_status != 500) throw;
    throw_not_found(tried, "trial", "\"" + trial.external_id + "\"", session_.url(), "det ls");
  }
  return get(id);
}

}  // namespace det::client
