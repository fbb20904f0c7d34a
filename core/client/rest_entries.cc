#include "core/client/rest_entries.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/codec/metrics.h"
#include "core/engine/runs/best_validation.h"

namespace det::client {

namespace {

Json time_or_null(const std::optional<codec::Time> &time) {
  return time ? Json(iso8601(time->us)) : Json();
}

Json text_or_null(const std::string &text) { return text.empty() ? Json() : Json(text); }

Json integer_or_null(const std::optional<int64_t> &value) { return value ? Json(*value) : Json(); }

// What is at the end of a path of keys; null when there is nothing.
Json at_path(const Json &json, std::initializer_list<const char *> keys) {
  const Json *here = &json;
  for (const char *key : keys) {
    if (!here->is_object()) return {};
    const auto found = here->find(key);
    if (found == here->end()) return {};
    here = &*found;
  }
  return *here;
}

// The trial's best validation, by the metric that its experiment searches for.
Json best_metric(const codec::Trial &trial, const codec::Experiment &experiment) {
  const Json name = at_path(experiment.config, {"searcher", "metric"});
  if (!name.is_string() || !trial.best_validation || !trial.best_validation->metrics) return {};
  return at_path(*trial.best_validation->metrics,
                 {"avgMetrics", name.get_ref<const std::string &>().c_str()});
}

// An allocation's id is that of its task, a dot and the number of the run.
Json run_of(const std::optional<std::string> &allocation_id) {
  if (!allocation_id) return {};
  const std::string number = allocation_id->substr(allocation_id->rfind('.') + 1);
  int64_t run = 0;
  const char *end = number.data() + number.size();
  const bool is_number = std::from_chars(number.data(), end, run).ptr == end && !number.empty();
  return is_number ? Json(run) : Json();
}

const char *level_name(const std::string &wire_name) {
  constexpr std::array<std::pair<std::string_view, const char *>, 5> names{{
      {"LOG_LEVEL_TRACE", "debug"},
      {"LOG_LEVEL_DEBUG", "debug"},
      {"LOG_LEVEL_WARNING", "warning"},
      {"LOG_LEVEL_ERROR", "error"},
      {"LOG_LEVEL_CRITICAL", "error"},
  }};
  const auto *found =
      std::ranges::find(names, wire_name, &std::pair<std::string_view, const char *>::first);
  return found != names.end() ? found->second : "info";
}

Json batches_or_null(const Json &batches) {
  return batches.is_array() && !batches.empty() ? batches : Json();
}

// Null where the master does not tell: of what it does not schedule, and of what may be leaving.
Json is_running(codec::TrialState state) {
  switch (state) {
    case codec::TrialState::running:
      return true;
    case codec::TrialState::completed:
    case codec::TrialState::canceled:
    case codec::TrialState::error:
    case codec::TrialState::queued:
    case codec::TrialState::pulling:
    case codec::TrialState::starting:
      return false;
    default:
      return {};
  }
}

Json object_or_empty(const Json &value) { return value.is_object() ? value : Json::object(); }

}  // namespace

std::string state_name(const std::string &wire_name) {
  constexpr std::string_view prefix = "STATE_";
  return wire_name.starts_with(prefix) ? wire_name.substr(prefix.size()) : wire_name;
}

std::string state_name(codec::TrialState state) {
  return state_name(std::string(codec::wire_names(state)[static_cast<size_t>(state)]));
}

bool is_over(const std::string &state_name) {
  return state_name == "COMPLETED" || state_name == "CANCELED" || state_name == "ERROR";
}

Json experiment_entry(const codec::Experiment &experiment) {
  return {{"id", experiment.id},
          {"name", experiment.name},
          {"state", state_name(experiment.state)},
          {"running", nullptr},
          {"progress", experiment.progress ? Json(*experiment.progress) : Json()},
          {"trials", experiment.trial_count},
          {"trials_done", nullptr},
          {"best_metric", nullptr},
          {"searcher", at_path(experiment.config, {"searcher", "name"})},
          {"searcher_metric", at_path(experiment.config, {"searcher", "metric"})},
          {"start_time", time_or_null(experiment.start_time)},
          {"end_time", time_or_null(experiment.end_time)},
          {"notes", experiment.notes},
          {"tags", experiment.labels},
          {"archived", experiment.archived}};
}

Json trial_entry(const codec::Trial &trial, const codec::Experiment &experiment) {
  // Masters tell the progress of experiments only.
  const bool is_alone = experiment.trial_count == 1 && experiment.progress;
  return {
      {"id", trial.id},
      {"experiment_id", trial.experiment_id},
      {"name", experiment.name},
      {"external_id", nullptr},
      {"state", state_name(trial.state)},
      {"running", is_running(trial.state)},
      {"status", text_or_null(trial.runner_state)},
      {"progress", is_alone ? Json(*experiment.progress) : Json()},
      {"steps_completed", trial.steps_completed},
      {"best_metric", best_metric(trial, experiment)},
      {"best_steps", trial.best_validation ? Json(trial.best_validation->steps_completed) : Json()},
      {"runs", nullptr},
      {"restarts", trial.restarts},
      {"hparams", trial.hparams},
      {"start_time", time_or_null(trial.start_time)},
      {"end_time", time_or_null(trial.end_time)},
      {"tags", experiment.labels},
      {"archived", experiment.archived}};
}

Json checkpoint_entry(const codec::Checkpoint &checkpoint) {
  uint64_t size = 0;
  for (const auto &[path, bytes] : checkpoint.resources) size += bytes;
  const Json steps = at_path(checkpoint.metadata, {"steps_completed"});
  const auto state = static_cast<size_t>(checkpoint.state);
  return {{"uuid", checkpoint.uuid},
          {"trial_id", integer_or_null(checkpoint.training.trial_id)},
          {"trial_run_id", run_of(checkpoint.allocation_id)},
          {"steps_completed", steps.is_number_integer() ? steps : Json()},
          {"state", state_name(std::string(codec::wire_names(checkpoint.state)[state]))},
          {"size", size},
          {"time", time_or_null(checkpoint.report_time)},
          {"metadata", checkpoint.metadata},
          {"resources", checkpoint.resources},
          {"pinned", nullptr}};
}

Json storage_of(const codec::Checkpoint &checkpoint) {
  return at_path(checkpoint.training.experiment_config.value_or(Json()), {"checkpoint_storage"});
}

bool matches(const codec::Experiment &experiment, const engine::Filter &filter) {
  if (!filter.name.empty() &&
      fnmatch(filter.name.c_str(), experiment.name.c_str(), FNM_NOESCAPE) != 0)
    return false;
  if (filter.archived != engine::Archived::with &&
      experiment.archived != (filter.archived == engine::Archived::only))
    return false;
  return filter.tag.empty() || std::ranges::count(experiment.labels, filter.tag) != 0;
}

bool matches(const Json &entry, const engine::Filter &filter) {
  if (filter.running && entry.at("state") != "RUNNING") return false;
  return filter.states.empty() ||
         std::ranges::count(filter.states, entry.at("state").get_ref<const std::string &>()) != 0;
}

std::optional<bool> archived_of(const engine::Filter &filter) {
  if (filter.archived == engine::Archived::with) return std::nullopt;
  return filter.archived == engine::Archived::only;
}

void sort_by_metric(std::vector<Json> &trial_entries, const codec::Experiment &experiment) {
  const engine::SearcherMetric metric =
      engine::searcher_metric(experiment.config).value_or(engine::SearcherMetric());
  std::ranges::stable_sort(trial_entries, {}, [&](const Json &entry) {
    return engine::rank_of(engine::searcher_value({{metric.name, entry.at("best_metric")}}, metric),
                           metric);
  });
}

Json log_entry(const codec::StoredLogLine &line) {
  std::string text = line.log.value_or(line.message);
  if (text.ends_with('\n')) text.pop_back();
  return {{"time", time_or_null(line.time)},
          {"level", level_name(line.level)},
          {"rank", integer_or_null(line.rank)},
          {"trial_run_id", nullptr},
          {"text", std::move(text)}};
}

Json report_entry(const char *group, const codec::StepMetrics &report) {
  const Json metrics = report.metrics.value_or(Json::object());
  return {{"group", group},
          {"steps_completed", report.steps_completed},
          {"trial_run_id", nullptr},
          {"rank", nullptr},
          {"time", time_or_null(report.end_time)},
          {"metrics", object_or_empty(at_path(metrics, {"avgMetrics"}))},
          {"batch_metrics", batches_or_null(at_path(metrics, {"batchMetrics"}))}};
}

Json report_entry(const codec::StoredReport &report) {
  // What the profiler measured is of a time alone.
  const bool is_measured = codec::is_of_profiler(report.group);
  return {{"group", report.group},
          {"steps_completed", is_measured ? Json() : Json(report.steps_completed)},
          {"trial_run_id", is_measured ? Json() : Json(report.run_id)},
          {"rank", nullptr},
          {"time", time_or_null(report.end_time)},
          {"metrics", is_measured ? report.metrics
                                  : object_or_empty(at_path(report.metrics, {"avg_metrics"}))},
          {"batch_metrics", batches_or_null(at_path(report.metrics, {"batch_metrics"}))}};
}

std::string group_name(const std::string &summary_name) {
  if (summary_name == "avg_metrics") return "training";
  return summary_name == "validation_metrics" ? "validation" : summary_name;
}

codec::ListPart part_of(const engine::Page &page, const char *sort) {
  return {.offset = page.after,
          .limit = std::min(page.limit, engine::Page().limit),
          .sort = sort,
          .order = page.descending ? codec::ListOrder::descending : codec::ListOrder::ascending};
}

Json cursor_behind(int64_t after, size_t entries, const codec::Pagination &pagination) {
  const int64_t end = after + static_cast<int64_t>(entries);
  return entries != 0 && end < pagination.total ? Json(end) : Json();
}

void throw_not_found(const std::string &tried, const char *kind, const std::string &id,
                     const std::string &url, const char *command) {
  throw Error(Code::not_found,
              tried + ": there is no " + kind + " " + id + " that you may see on " + url + "; `" +
                  command + "` shows the ones there are",
              0, 404);
}

}  // namespace det::client
