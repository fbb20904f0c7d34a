#include "core/master/embedded/embedded_master.h"

#include "core/master/embedded/embedded_trial.h"
#include "core/master/embedded/unreachable.h"

namespace det::master {

std::unique_ptr<Master> start_embedded_run(const engine::RunRequest &request) {
  return std::make_unique<EmbeddedTrial>(engine::start_live_run(request));
}

std::unique_ptr<Master> join_embedded_run(const engine::RunTicket &ticket, int rank,
                                          std::shared_ptr<Logger> log,
                                          const engine::StoreOptions &options) {
  engine::JoinedRun joined = engine::join_live_run(ticket, rank, std::move(log), options);
  if (joined.run) return std::make_unique<EmbeddedTrial>(std::move(joined.run));
  return std::make_unique<UnreachableMaster>(ticket.info, std::move(joined.why_not));
}

}  // namespace det::master
