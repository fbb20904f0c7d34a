// Finding or making the trial that a program is to run, and its next run.
#pragma once

#include <string>

#include "core/base/process.h"
#include "core/master/embedded/embedded_master.h"

namespace det {

// A rank's hold on a run that was started.
struct StartedRun {
  RunInfo info;
  int rank = 0;
  bool alone = true;  // there are no other ranks
  bool supervised = false;
  std::string journal_id;
  OwnerLock owner;
};

// In one transaction; the run's directory is there when it is done. Throws as start_embedded_run().
StartedRun start_run(Database &store, const RunRequest &request);

// For the supervisor of a trial, which starts a process for each of its runs: what the next run is
// to do, and with the process that is to do it the record of that run, for which the caller holds a
// transaction.
RunInfo describe_next_run(Database &store, int64_t trial_id);
void record_next_run(Database &store, const RunInfo &run, const ProcessIdentity &leader);

}  // namespace det
