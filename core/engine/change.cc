#include "core/engine/change.h"

#include "core/engine/runs/signal_watch.h"

namespace det::engine {

Change::Change(Store &store, Durability durability)
    : store_(store), transaction_(store.database(), durability) {}

void Change::signal(int64_t trial_id, int64_t run_id, std::string_view reason) {
  record_signal(records(), trial_id, run_id, reason);
  runs_.emplace_back(trial_id, run_id);
}

void Change::commit() {
  transaction_.commit();
  for (const auto &[trial_id, run_id] : runs_) store_.waking().wake_run(trial_id, run_id);
  for (const int64_t experiment_id : supervisors_) store_.waking().wake_supervisor(experiment_id);
  for (const int64_t experiment_id : listeners_) store_.waking().wake_listeners(experiment_id);
}

}  // namespace det::engine
