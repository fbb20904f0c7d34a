// A master in this process: the trial's records live in a store on this machine.
#pragma once

#include <memory>

#include "core/base/log.h"
#include "core/engine/runs/joined_run.h"
#include "core/engine/runs/start_run.h"
#include "core/engine/store.h"
#include "core/master/master.h"

namespace det::master {

// As start_live_run().
std::unique_ptr<Master> start_embedded_run(const engine::RunRequest &request);

// As join_live_run(). Where the store of the chief is not to be had (another machine without a
// shared file system) it gives a master that is unreachable().
std::unique_ptr<Master> join_embedded_run(const engine::RunTicket &ticket, int rank,
                                          std::shared_ptr<Logger> log,
                                          const engine::StoreOptions &options = {});

}  // namespace det::master
