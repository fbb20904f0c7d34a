// What a configuration says about running its trials.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "core/base/json_fwd.h"

namespace det::launcher {

struct RunPolicy {
  int64_t slots_per_trial = 1;
  int64_t max_slots = 0;  // of all trials together; 0: as many as there are
  int64_t max_restarts = 5;
  std::chrono::seconds preemption_timeout{3600};  // for one that was asked to leave

  // Whether one more trial may run beside so many.
  bool allows_another(size_t running) const;
};

RunPolicy run_policy(const Json &config);

// How many slots the trials of an experiment may have together, whatever the machine has. 0: no
// limit is known.
int64_t slots_at_once(const Json &config);

// What each trial is to train to by itself where metrics steer the search.
uint64_t length_by_metrics(const Json &config);

}  // namespace det::launcher
