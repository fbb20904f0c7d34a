// What a supervisor decides about a trial: what its run is to do, and what follows when that has
// left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/engine/supervision/supervised_runs.h"
#include "core/search/search.h"

namespace det::launcher {

// What the run of a trial is to do.
struct RunOrder {
  enum class Kind { go_on, leave, end } kind = Kind::go_on;
  std::string_view reason = {};  // for which it is to leave
};

// As its trial comes into a state.
RunOrder order_for(std::string_view trial_state, bool by_metrics);

struct RunFacts {
  std::string state = {};     // of the trial
  bool killed = false;        // by the supervisor
  bool failed = false;        // left with an error, or by a signal
  bool lost = false;          // went while nobody watched: nobody's fault
  bool unstartable = false;   // its command could not be started
  std::string no_space = {};  // where that is missing, if it is
  bool acknowledged = false;  // it had told that it leaves because it was asked to, or had no work
  bool invalid_hp = false;    // it had refused its hyperparameters
  bool done = false;          // its operation is completed, or it has none
  bool closed = false;        // the search has no more operations for it
  bool is_final = false;      // a line of its log says that it is not to be started again
  int64_t restarts = 0;
  int64_t max_restarts = 0;
};

struct Verdict {
  std::string_view state;  // the terminal state of the trial; empty: it goes on
  bool counts = false;     // as one of its restarts
  bool waits_for_space = false;
  std::optional<search::ExitReason> reason = {};  // for the search, where it did not end as planned
};

// With what is on record of its trial.
RunFacts with_standing(RunFacts run, const engine::RunStanding &standing, int64_t max_restarts);

Verdict judge(const RunFacts &run);

// As a trial ends that has no process.
Verdict judge_without_process(const RunFacts &trial);

}  // namespace det::launcher
