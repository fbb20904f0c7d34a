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

// For the supervisor of a trial, which starts a process for each of its runs. The caller holds a
// transaction.
RunInfo prepare_run(Database &store, int64_t trial_id, const ProcessIdentity &leader);

}  // namespace det
