// One experiment or trial with all that a master tells about it.
#include <algorithm>
#include <map>
#include <set>

#include "core/base/dotted_name.h"
#include "core/client/rest_client.h"
#include "core/client/rest_entries.h"
#include "core/config/secrets.h"
#include "core/tensorboard/files.h"

namespace det::client {

std::vector<Json> RestClient::all_trials(const codec::Experiment &experiment) {
  std::vector<Json> trials;
  engine::Page page;
  for (Json next = 0; !next.is_null();) {
    page.after = next.get<int64_t>();
    const auto list = session_->call(codec::ListTrials{experiment.id, part_of(page, sort_by_id)});
    for (const codec::Trial &trial : list.trials) trials.push_back(trial_entry(trial, experiment));
    next = cursor_behind(page.after, list.trials.size(), list.pagination);
  }
  return trials;
}

Json RestClient::describe_experiment(int64_t experiment_id) {
  const codec::Experiment experiment = this->experiment(experiment_id, "reading an experiment");
  Json entry = experiment_entry(experiment);
  entry["config"] = config::with_masked_secrets(experiment.config);
  entry["error"] = nullptr;
  return entry;
}

Json RestClient::get_experiment(int64_t experiment_id) {
  const codec::Experiment experiment = this->experiment(experiment_id, "reading an experiment");
  Json entry = experiment_entry(experiment);
  entry["config"] = config::with_masked_secrets(experiment.config);
  entry["error"] = nullptr;
  std::vector<Json> trials = all_trials(experiment);
  entry["trials"] = trials;
  const Json storage = experiment.config.is_object()
                           ? experiment.config.value("checkpoint_storage", Json())
                           : Json();
  entry["tensorboard"] =
      tensorboard::locations({storage}, session_->master().cluster_id, experiment_id, logger_);
  sort_by_metric(trials, experiment);
  if (!trials.empty()) entry["best_metric"] = trials.front().at("best_metric");
  return entry;
}

// Not left to the master: its order is not that of the search in every version.
Json RestClient::list_trials_by_metric(const codec::Experiment &experiment,
                                       const engine::Page &page) {
  std::vector<Json> trials = all_trials(experiment);
  std::erase_if(trials, [&](const Json &trial) { return !matches(trial, page.filter); });
  sort_by_metric(trials, experiment);
  if (page.descending) std::ranges::reverse(trials);
  Json part = Json::array();
  auto at = static_cast<size_t>(page.after);
  for (; at < trials.size() && static_cast<int64_t>(part.size()) < page.limit; ++at)
    part.push_back(std::move(trials[at]));
  return {{"trials", std::move(part)}, {"next", at < trials.size() ? Json(at) : Json()}};
}

Json RestClient::latest_checkpoint(int64_t trial_id) {
  engine::Page page{0, 10, true};  // each comes with the whole configuration
  for (Json next = 0; !next.is_null();) {
    page.after = next.get<int64_t>();
    const auto list = session_->call(
        codec::ListTrialCheckpoints{trial_id, part_of(page, "SORT_BY_BATCH_NUMBER")});
    for (const codec::Checkpoint &checkpoint : list.checkpoints)
      if (checkpoint.state == codec::CheckpointState::completed)
        return checkpoint_entry(checkpoint);
    next = cursor_behind(page.after, list.checkpoints.size(), list.pagination);
  }
  return {};
}

// By group. Masters before 0.33 do not tell.
Json RestClient::metric_names(const codec::Trial &trial, int64_t most) {
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

Json RestClient::get_trial(int64_t trial_id) {
  const codec::Trial trial = this->trial(trial_id, "reading a trial");
  Json entry = trial_entry(trial, experiment(trial.experiment_id, "reading a trial"));
  entry["trial_seed"] = nullptr;
  entry["task_id"] = trial.task_id;
  entry["early_exit"] = nullptr;
  entry["metadata"] = trial.metadata ? *trial.metadata : Json();
  entry["runs"] = nullptr;
  entry["operations"] = nullptr;
  entry["latest_checkpoint"] = latest_checkpoint(trial_id);
  entry["metric_names"] = metric_names(trial, 200);
  entry["waiting"] = nullptr;
  entry["error"] = nullptr;
  entry["supervised"] = nullptr;
  entry["resume"] = nullptr;
  return entry;
}

}  // namespace det::client
