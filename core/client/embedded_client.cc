#include "core/client/embedded_client.h"

#include "core/base/error.h"
#include "core/base/log/log.h"
#include "core/client/sync.h"
#include "core/config/experiment/experiment_config.h"
#include "core/engine/runs/recover_runs.h"
#include "core/engine/runs/traces.h"
#include "core/journal/recovery.h"
#include "core/journal/run_directory.h"
#include "core/storage/storage.h"
#include "core/tensorboard/files.h"

namespace det::client {

EmbeddedClient::EmbeddedClient(std::filesystem::path store_directory,
                               std::shared_ptr<Logger> logger, engine::StoreOptions options)
    : store_directory_(std::move(store_directory)),
      logger_(std::move(logger)),
      engine_(store_directory_, false, std::move(options)) {}

Json EmbeddedClient::list_trials(int64_t experiment_id, const engine::Page &page) {
  if (page.by_metric) require_one_experiment(experiment_id);
  return engine_.trials().list(experiment_id, page);
}

Json EmbeddedClient::get_trial(int64_t trial_id) {
  Json trial = engine_.trials().get(trial_id);
  // Reports in the journals of ranks that are gone.
  uint64_t waiting = 0;
  for (const engine::DeliveredJournal &journal : engine_.trials().delivered_journals(trial_id)) {
    const auto directory =
        journal::run_directory(store_directory_, trial_id, journal.run_id, journal.rank);
    if (owner_liveness(journal::owner_file(directory)) == Liveness::dead)
      waiting += journal::count_waiting_reports(directory, journal.sequence).reports;
  }
  trial["waiting"] = waiting;
  return trial;
}

std::vector<std::filesystem::path> EmbeddedClient::trace_files(int64_t trial_id) {
  const auto experiment = engine_.trials().get(trial_id).at("experiment_id").get<int64_t>();
  return engine::traces_of(store_directory_, experiment, trial_id);
}

Json EmbeddedClient::get_experiment(int64_t experiment_id) {
  Json experiment = engine_.experiments().get(experiment_id);
  const engine::KeptFiles kept = engine_.deletion(experiment_id).kept_files();
  std::vector<Json> storages = kept.storages;
  storages.insert(storages.end(), kept.shared_storages.begin(), kept.shared_storages.end());
  storages.push_back(config::store_storage(store_directory_.parent_path()));
  Json &places = experiment["tensorboard"] = Json::array();
  for (const std::string &cluster_id : kept.cluster_ids)
    for (std::string &place : tensorboard::locations(storages, cluster_id, experiment_id, logger_))
      places.push_back(std::move(place));
  return experiment;
}

Json EmbeddedClient::delete_experiment(int64_t experiment_id) {
  engine::DeletedFiles deleted;
  engine::ExperimentDeletion deletion = engine_.deletion(experiment_id);
  const engine::KeptFiles kept = deletion.begin();
  try {
    const auto remove_from = [&](const Json &one, const std::vector<std::string> &cluster_ids) {
      const auto storage = storage::make_recorded_storage(one, logger_);
      for (const std::string &id : cluster_ids)
        tensorboard::remove_tensorboard_files(*storage, id, experiment_id);
    };
    remove_from(config::store_storage(store_directory_.parent_path()), kept.cluster_ids);
    for (const Json &one : kept.storages) remove_from(one, kept.cluster_ids);
    for (const Json &one : kept.shared_storages) remove_from(one, {kept.cluster_ids.front()});
    deleted = deletion.delete_files(*logger_);
  } catch (const std::exception &failure) {
    const Error error = as_error(failure);
    try {
      deletion.note_failure();
    } catch (const std::exception &) {
      // What went wrong first is what the caller should know.
    }
    throw Error(error.code,
                "deleting experiment " + std::to_string(experiment_id) + ": " + error.what() +
                    "; its records are kept, delete it again when that is mended",
                error.os_errno);
  }
  deletion.delete_records();
  return {{"experiment_id", experiment_id},
          {"state", "DELETED"},
          {"checkpoints", deleted.checkpoints},
          {"size", deleted.size}};
}

Json EmbeddedClient::sync() { return to_json(engine::recover_runs(store_directory_, *logger_)); }

}  // namespace det::client
