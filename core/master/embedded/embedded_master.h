// A master in this process: the trial's records live in a store on this machine, and its search is
// `single`.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/base/json.h"
#include "core/base/log.h"
#include "core/engine/start.h"
#include "core/engine/store.h"
#include "core/master/master.h"

namespace det {

// Opens or makes the store and starts the next run of the trial. Throws Code::not_found (no such
// trial), Code::state (another process runs it), Code::invalid (hyperparameters that are a search
// space, a length that is none), and what open_store() throws.
std::unique_ptr<Master> start_embedded_run(const RunRequest &request);

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
// a shared file system) it gives a master that is unreachable(). Throws what open_store() throws
// for a store that should be usable.
std::unique_ptr<Master> join_embedded_run(const RunTicket &ticket, int rank,
                                          std::shared_ptr<Logger> log,
                                          const StoreOptions &options = {});

}  // namespace det
