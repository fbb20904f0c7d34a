#include "core/master/embedded/embedded_master.h"

#include "core/engine/lifecycle.h"
#include "core/engine/run_directory.h"
#include "core/engine/start.h"
#include "core/master/embedded/running_trial.h"

namespace det {

namespace {

// It would look alive as long as this process is.
void abandon_run(const RunRequest &request, int64_t trial_id, int64_t run_id) noexcept {
  try {
    Database store = open_store(request.store_directory, false, request.options);
    Transaction transaction(store, Durability::relaxed);
    record_run_end(store, trial_id, run_id, RunExit::died);
    transaction.commit();
    remove_run_directory(run_directory(request.store_directory, trial_id, run_id));
  } catch (const std::exception &) {
    return;  // the next start says what is wrong
  }
}

}  // namespace

std::unique_ptr<Master> start_embedded_run(const RunRequest &request) {
  Database store = open_store(request.store_directory, true, request.options);
  StartedRun run = start_run(store, request);
  const int64_t trial_id = run.info.trial_id, run_id = run.info.run_id;
  try {
    return std::make_unique<RunningTrial>(std::move(store), std::move(run), request.store_directory,
                                          request.options, request.log);
  } catch (...) {
    abandon_run(request, trial_id, run_id);
    throw;
  }
}

}  // namespace det
