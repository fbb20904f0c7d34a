// Finding or making the trial that a program is to run, and its next run.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/log/log.h"
#include "core/base/process/process.h"
#include "core/engine/runs/ranks.h"
#include "core/engine/runs/run_info.h"
#include "core/engine/store.h"

namespace det::engine {

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
  bool command_starts_all = true;    // its other ranks too
  std::filesystem::path directory;   // and where; empty: not known
  std::vector<RankProcess> workers;  // the other processes of the job: ranks 1, 2, ...

  // Sees the configuration that is to count before anything is recorded or held, so that it may
  // take its time; what it throws starts nothing.
  std::function<void(const Json &config)> accept;

  std::chrono::milliseconds wait{0};  // for the end of a run of the trial that goes on

  std::shared_ptr<Logger> log;
  StoreOptions options;
};

// A rank's hold on a run that was started.
struct StartedRun {
  RunInfo info;
  int rank = 0;
  bool alone = true;  // there are no other ranks
  bool supervised = false;
  std::string journal_id;
  OwnerLock owner;
};

// In one transaction, after `accept`; the run's directory is there when it is done. Throws as
// start_live_run(); where another process runs the trial, at the end of the time to wait, that may
// be tried again.
StartedRun start_run(Database &store, const RunRequest &request);

// For the supervisor of a trial, which starts each of its runs: what the next run is to do, all but
// the configuration, which is that of its experiment; and the record of that run with its leader
// (SupervisedRuns::start()), for which the caller holds a transaction.
RunInfo describe_next_run(Database &store, int64_t trial_id);
void record_next_run(Database &store, const RunInfo &run, const std::string &leader);

}  // namespace det::engine
