// The runs that the supervisor of an experiment starts: their beginning, what they print and their
// end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/log/log.h"
#include "core/engine/runs/run_info.h"
#include "core/engine/states.h"
#include "core/engine/store.h"

namespace det::engine {

// A run that a supervisor started, and whose end none has judged.
struct UnjudgedRun {
  int64_t trial_id = 0;
  int64_t run_id = 0;
  std::string leader;
  uint64_t log_offset = 0;  // how far what it prints is on record
};

// What a run has said when its process is gone.
struct RunStanding {
  std::string trial_state;
  int64_t restarts = 0;
  bool closed = false;
  bool invalid_hp = false;
  bool acknowledged = false;  // that it leaves because it was asked to, or that it has no work
  bool done = false;
  bool restarts_forbidden = false;
};

struct JudgedRun {
  int64_t run_id = 0;
  RunExit exit = RunExit::ok;
  bool counts = false;  // as one of its trial's restarts
};

// Used by one thread.
class SupervisedRuns {
 public:
  SupervisedRuns(Store &store, int64_t experiment_id)
      : store_(store), experiment_id_(experiment_id) {}

  std::vector<UnjudgedRun> unjudged();  // of trials that have not ended
  // What the next run of a trial is to do: all but the configuration, which is the experiment's.
  RunInfo next(int64_t trial_id);
  // `leader` is what its launcher knows it by, the text of a JSON object: that of a process of a
  // machine is its ProcessIdentity.
  void start(const RunInfo &run, const std::string &leader);
  void ask_to_leave(int64_t trial_id, int64_t run_id, std::string_view reason);
  std::optional<std::string> exit_of(int64_t trial_id, int64_t run_id);
  // Whether its program has called the library.
  bool was_taken_up(int64_t trial_id, int64_t run_id);
  // As its process ended it; nothing where it said so itself.
  void end(int64_t trial_id, int64_t run_id, RunExit how);
  RunStanding standing(int64_t trial_id, int64_t run_id);
  void judge(int64_t trial_id, const JudgedRun &run);

 private:
  Database &records() { return store_.database(); }

  Store &store_;
  const int64_t experiment_id_;
};

// The caller holds a transaction.
void record_judged_run(Database &store, int64_t trial_id, const JudgedRun &run);

// What runs print. Used by one thread.
class RunOutput {
 public:
  explicit RunOutput(Store &store) : store_(store) {}

  void add(int64_t trial_id, int64_t run_id, LogLevel level, const std::string &text);
  // Lines with how far they were read, so that none is lost or stored twice. Where a line has what
  // `policy` looks for, the trial is not started again when it fails: whether that is new.
  bool add_lines(int64_t trial_id, int64_t run_id, const std::vector<std::string> &lines,
                 uint64_t offset, const std::optional<std::string> &policy);

 private:
  Database &records() { return store_.database(); }
  void insert(int64_t trial_id, int64_t run_id, LogLevel level, const std::string &text);

  Store &store_;
};

}  // namespace det::engine
