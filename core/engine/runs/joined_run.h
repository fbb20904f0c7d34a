// How the other ranks of a job take part in the run that their chief has started.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/base/json_fwd.h"
#include "core/base/log/log.h"
#include "core/base/process/process.h"
#include "core/engine/runs/run_backend.h"
#include "core/engine/store.h"

namespace det::engine {

// What the chief of a job tells its other ranks about the run it has started.
struct RunTicket {
  std::filesystem::path store_directory;
  std::string journal_id;  // of the run
  ProcessIdentity chief;
  RunInfo info;
};

Json to_json(const RunTicket &ticket);
RunTicket ticket_from_json(const Json &json);

// A worker's share in a run. Where the store of the chief is not to be had (another machine without
// a shared file system), it is unreachable(). Throws what open_store() throws for a store that
// should be usable.
std::unique_ptr<RunBackend> join_live_run(const RunTicket &ticket, int rank,
                                          std::shared_ptr<Logger> log,
                                          const StoreOptions &options = {});

}  // namespace det::engine
