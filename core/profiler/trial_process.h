#pragma once

#include <sys/types.h>

#include "core/profiler/samplers.h"

namespace det::profiler {

// Whether a process descends from that of the trial, or is it.
class TrialProcess {
 public:
  explicit TrialProcess(const Machine &machine) : machine_(machine) {}
  bool operator()(pid_t process) const;

 private:
  Machine machine_;
};

}  // namespace det::profiler
