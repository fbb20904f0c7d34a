#include "core/client/embedded_client.h"

#include "core/base/log.h"
#include "core/client/sync.h"
#include "core/engine/recover_runs.h"
#include "core/journal/recovery.h"
#include "core/journal/run_directory.h"

namespace det::client {

EmbeddedClient::EmbeddedClient(std::filesystem::path store_directory,
                               std::shared_ptr<Logger> logger, engine::StoreOptions options)
    : store_directory_(std::move(store_directory)),
      logger_(std::move(logger)),
      engine_(store_directory_, false, std::move(options)) {}

Json EmbeddedClient::list_trials(int64_t experiment_id, const engine::Page &page) {
  if (page.by_metric) require_one_experiment(experiment_id);
  return engine_.list_trials(experiment_id, page);
}

Json EmbeddedClient::get_trial(int64_t trial_id) {
  Json trial = engine_.get_trial(trial_id);
  // Reports in the journals of ranks that are gone.
  uint64_t waiting = 0;
  for (const engine::DeliveredJournal &journal : engine_.delivered_journals(trial_id)) {
    const auto directory =
        journal::run_directory(store_directory_, trial_id, journal.run_id, journal.rank);
    if (owner_liveness(journal::owner_file(directory)) == Liveness::dead)
      waiting += journal::count_waiting_reports(directory, journal.sequence).reports;
  }
  trial["waiting"] = waiting;
  return trial;
}

Json EmbeddedClient::sync() { return to_json(engine::recover_runs(store_directory_, *logger_)); }

}  // namespace det::client
