// The best trial of an experiment, and the checkpoint to take from it.
#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/client/client.h"
#include "core/client/metric_series.h"
#include "core/engine/runs/searcher_metric.h"
#include "core/storage/storage_location.h"

namespace det::client {

namespace {

// Checkpoints of a trial whose files are all there.
std::vector<Json> whole_checkpoints(Client &client, int64_t trial_id) {
  std::vector<Json> found;
  engine::Page page;
  page.descending = true;
  for (Json next = 0; !next.is_null();) {
    page.after = next.get<int64_t>();
    Json list = client.list_checkpoints(trial_id, page);
    for (Json &checkpoint : list.at("checkpoints"))
      if (checkpoint.at("state") == "COMPLETED") found.push_back(std::move(checkpoint));
    next = list.at("next");
  }
  return found;
}

// The one with the best validation; of several that are as good, the one that has trained longest.
// Where none has it, the latest. Null where there is none.
Json checkpoint_of(Client &client, const Json &trial, const std::string &metric) {
  const auto trial_id = trial.at("id").get<int64_t>();
  const Json &best_steps = trial.at("best_steps");
  const auto steps_of = [](const Json &one) -> const Json & { return one.at("steps_completed"); };
  const std::vector<Json> there = whole_checkpoints(client, trial_id);
  if (there.empty()) return {};
  std::set<int64_t> best;
  if (best_steps.is_number()) best.insert(best_steps.get<int64_t>());
  if (std::ranges::any_of(there, [&](const Json &one) { return steps_of(one) > best_steps; })) {
    const MetricSeries series = read_metric_series(client, trial_id, "validation", metric);
    for (size_t i = 0; i < series.steps.size(); ++i)
      if (trial.at("best_metric") == series.values[i]) best.insert(series.steps[i]);
  }
  const auto rank = [&](const Json &one) {
    const auto steps = steps_of(one).get<int64_t>();
    return std::pair(best.contains(steps), steps);
  };
  return *std::ranges::max_element(there, {}, rank);
}

// Where its files are, in the file system; null for other storage.
Json directory_of(const Json &storage, const std::string &uuid) {
  const auto text = [&](const char *key) -> std::optional<std::string> {
    const Json value = storage.value(key, Json());
    return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
  };
  if (!storage.is_object()) return {};
  try {
    if (text("type") == "shared_fs" && text("host_path"))
      return (storage::shared_directory(*text("host_path"), text("storage_path"), std::nullopt) /
              uuid)
          .string();
  } catch (const Error &) {
    return {};  // that of a master, which may allow more
  }
  if (text("type") == "directory" && text("container_path"))
    return (std::filesystem::path(*text("container_path")) / uuid).string();
  return {};
}

}  // namespace

Json Client::list_metrics(int64_t trial_id, const std::optional<std::string> &group,
                          const engine::Page &page) {
  return parse_json(metrics_text(trial_id, group, page), "a list of metrics");
}

void require_one_experiment(int64_t experiment_id) {
  if (experiment_id == 0)
    throw Error(Code::invalid,
                "listing trials by their metric: only those of one experiment can be compared; "
                "give its id");
}

Json best_trial(Client &client, int64_t experiment_id) {
  const Json experiment = client.describe_experiment(experiment_id);
  const auto metric = engine::searcher_metric(experiment.at("config"));
  Json answer{{"experiment_id", experiment_id},
              {"name", experiment.at("name")},
              {"state", experiment.at("state")},
              {"searcher_metric", metric ? Json(metric->name) : Json()},
              {"smaller_is_better", metric ? Json(metric->smaller_is_better) : Json()},
              {"trial", nullptr},
              {"checkpoint", nullptr}};
  engine::Page first;
  first.limit = 1;
  first.by_metric = true;
  Json trials = client.list_trials(experiment_id, first).at("trials");
  if (trials.empty() || trials[0].at("best_metric").is_null()) return answer;
  Json checkpoint = checkpoint_of(client, trials[0], metric ? metric->name : std::string());
  if (!checkpoint.is_null()) {
    const auto uuid = checkpoint.at("uuid").get<std::string>();
    checkpoint["storage"] = client.get_checkpoint(uuid).at("storage");
    checkpoint["directory"] = directory_of(checkpoint["storage"], uuid);
  }
  answer["trial"] = std::move(trials[0]);
  answer["checkpoint"] = std::move(checkpoint);
  return answer;
}

}  // namespace det::client
