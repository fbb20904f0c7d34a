#include "core/master/embedded/embedded_master.h"

#include "core/master/embedded/running_trial.h"
#include "core/master/embedded/start.h"

namespace det {

std::unique_ptr<Master> start_embedded_run(const RunRequest &request) {
  Database store = open_store(request.store_directory, true, request.options);
  StartedRun run = start_run(store, request);
  return std::make_unique<RunningTrial>(std::move(store), std::move(run), request.store_directory,
                                        request.options, request.log);
}

}  // namespace det
