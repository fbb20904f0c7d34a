// The best trial of an experiment, and the checkpoint to take from it.
#include <filesystem>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/client/client.h"
#include "core/engine/searcher_metric.h"
#include "core/storage/storage_location.h"

namespace det::client {

namespace {

// Of those whose files are all there: the one with the best validation, else the latest. Null where
// there is none.
Json checkpoint_of(Client &client, int64_t trial_id, const Json &best_steps) {
  Json chosen;
  engine::Page page;
  page.descending = true;
  for (Json next = 0; !next.is_null();) {
    page.after = next.get<int64_t>();
    Json list = client.list_checkpoints(trial_id, page);
    for (Json &checkpoint : list.at("checkpoints")) {
      if (checkpoint.at("state") != "COMPLETED") continue;
      const Json &steps = checkpoint.at("steps_completed");
      if (steps == best_steps) return std::move(checkpoint);
      if (chosen.is_null() || steps > chosen.at("steps_completed")) chosen = std::move(checkpoint);
    }
    next = list.at("next");
  }
  return chosen;
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
  Json checkpoint =
      checkpoint_of(client, trials[0].at("id").get<int64_t>(), trials[0].at("best_steps"));
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
