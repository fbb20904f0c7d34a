// A master in this process: the trial's records live in a store on this machine, and its search is
// `single`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/log.h"
#include "core/master/embedded/ranks.h"
#include "core/master/embedded/store.h"
#include "core/master/master.h"

namespace det {

struct RunRequest {
  std::filesystem::path store_directory;  // MasterLocation::store_directory()

  // Which trial: this one, else the one with this external id, else a new one.
  int64_t trial_id = 0;
  std::string external_id;
  // The run of a supervised trial that this process was started for; else 0.
  int64_t run_id = 0;

  // For a new experiment and trial. `config` also raises the length of a trial that is continued.
  std::string name;
  Json config;   // object or null
  Json hparams;  // object or null
  bool hparams_given = false;

  std::string command;               // how this program was started, to tell how to start it again
  std::vector<RankProcess> workers;  // the other processes of the job: ranks 1, 2, ...

  // Sees the run before it is recorded; what it throws starts nothing.
  std::function<void(const RunInfo &run)> accept;

  std::shared_ptr<Logger> log;
  StoreOptions options;
};

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
