#include "core/engine/engine.h"

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/engine/best_validation.h"
#include "core/engine/change.h"
#include "core/engine/copied_store.h"
#include "core/engine/garbage.h"
#include "core/engine/states.h"
#include "core/engine/store_places.h"

namespace det::engine {

Engine::Engine(std::filesystem::path store_directory, bool create, StoreOptions options)
    : store_(std::move(store_directory), create, std::move(options)) {}

void Engine::require_trial(int64_t trial_id, const char *tried) {
  if (records().query("SELECT 1 FROM trials WHERE id=?", trial_id).next()) return;
  throw Error(Code::not_found, std::string(tried) + ": there is no trial " +
                                   std::to_string(trial_id) + " in '" + records().path().string() +
                                   "'; `det ls` shows the ones there are");
}

int64_t Engine::create_experiment(const Json &config, const std::string &original,
                                  const LaunchPlan &launch) {
  const std::lock_guard guard(mutex_);
  Change change(store_);
  const int64_t id = det::engine::create_experiment(change.records(), config, original, launch);
  change.commit();
  return id;
}

ExperimentRecord Engine::read_experiment(int64_t experiment_id) {
  const std::lock_guard guard(mutex_);
  return det::engine::read_experiment(records(), experiment_id);
}

KeptFiles Engine::begin_deletion(int64_t experiment_id) {
  {
    const std::lock_guard guard(mutex_);
    det::engine::begin_deletion(store_, experiment_id);
  }
  return kept_files(experiment_id);
}

KeptFiles Engine::kept_files(int64_t experiment_id) {
  const std::lock_guard guard(mutex_);
  KeptFiles kept{cluster_ids_of(records(), experiment_id), {}, {}};
  const CopiedStore copied(records());
  const bool is_shared = copied.original_of_experiment(experiment_id) != nullptr;
  for (Json &storage : storages_of(records(), experiment_id)) {
    const bool is_outside =
        is_shared && copied.is_outside(recorded_storage(home_of(records()), storage));
    (is_outside ? kept.shared_storages : kept.storages).push_back(std::move(storage));
  }
  return kept;
}

DeletedFiles Engine::delete_files(int64_t experiment_id, Logger &logger) {
  const std::lock_guard guard(mutex_);
  return det::engine::delete_files(records(), experiment_id, logger);
}

void Engine::note_failed_deletion(int64_t experiment_id) {
  const std::lock_guard guard(mutex_);
  det::engine::note_failed_deletion(records(), experiment_id);
}

void Engine::delete_records(int64_t experiment_id) {
  const std::lock_guard guard(mutex_);
  det::engine::delete_records(store_, experiment_id);
}

Json Engine::delete_checkpoint(const std::string &id, Logger &logger) {
  const std::lock_guard guard(mutex_);
  const int64_t size = det::engine::delete_checkpoint(store_, id, logger);
  return {{"uuid", id}, {"size", size}};
}

Json Engine::collect_garbage(int64_t experiment_id, bool dry, Logger &logger) {
  const std::lock_guard guard(mutex_);
  const Json experiment = entry_of_experiment(experiment_id, "deleting checkpoints");
  Collected collected;
  if (dry) {
    collected.deleted = find_garbage(records(), experiment_id);
  } else {
    const auto state = experiment.at("state").get<std::string>();
    if (!is_terminal(state))
      throw Error(Code::state, "deleting checkpoints of experiment " +
                                   std::to_string(experiment_id) + ": it is " + state +
                                   " and may need them; wait until it is over");
    collected = delete_garbage(store_.directory(), experiment_id, logger);
  }
  Json checkpoints = Json::array();
  int64_t bytes = 0;
  for (const StoredCheckpoint &one : collected.deleted) {
    bytes += one.size;
    checkpoints.push_back({{"uuid", one.uuid},
                           {"trial_id", one.trial_id},
                           {"steps_completed", one.steps},
                           {"size", one.size}});
  }
  return {
      {"checkpoints", std::move(checkpoints)}, {"size", bytes}, {"failures", collected.failures}};
}

}  // namespace det::engine
