// A master in this process: the trial's records live in a store on this machine, and its search is
// `single`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "core/base/json.h"
#include "core/base/log.h"
#include "core/comm/communicator.h"
#include "core/master/embedded/store.h"
#include "core/master/master.h"

namespace det {

struct RunRequest {
  std::filesystem::path store_directory;  // MasterLocation::store_directory()

  // Which trial: this one, else the one with this external id, else a new one.
  int64_t trial_id = 0;
  std::string external_id;

  // For a new experiment and trial. `config` also raises the length of a trial that is continued.
  std::string name;
  Json config;   // object or null
  Json hparams;  // object or null
  bool hparams_given = false;

  std::string command;  // how this program was started, to tell how to start it again
  Json storage;         // where checkpoints go
  Ranks ranks;

  std::shared_ptr<Logger> log;
  StoreOptions options;
};

// Opens or makes the store and starts the next run of the trial. Throws Code::not_found (no such
// trial), Code::state (another process runs it), Code::invalid (hyperparameters that are a search
// space, a length that is none), and what open_store() throws.
std::unique_ptr<Master> start_embedded_run(const RunRequest &request);

}  // namespace det
