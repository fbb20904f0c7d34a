#include "core/master/embedded/embedded_master.h"

#include "core/master/embedded/running_trial.h"
#include "core/master/embedded/unreachable.h"

namespace det {

std::unique_ptr<Master> start_embedded_run(const RunRequest &request) {
  return std::make_unique<RunningTrial>(start_live_run(request));
}

std::unique_ptr<Master> join_embedded_run(const RunTicket &ticket, int rank,
                                          std::shared_ptr<Logger> log,
                                          const StoreOptions &options) {
  JoinedRun joined = join_live_run(ticket, rank, std::move(log), options);
  if (joined.run) return std::make_unique<RunningTrial>(std::move(joined.run));
  return std::make_unique<UnreachableMaster>(ticket.info, std::move(joined.why_not));
}

}  // namespace det
