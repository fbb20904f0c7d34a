// What the process of a trial is started with.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "core/launcher/launcher.h"
#include "core/launcher/local/held_process.h"
#include "core/launcher/local/process_environment.h"

namespace det::launcher {

struct TrialStart {
  Start start;
  std::exception_ptr defect;  // what keeps the command from starting; none where nothing does
};

// `of_slots` are the variables that tell which slots it has, `usual` those that it gets unless
// somebody said otherwise.
TrialStart trial_start(const TrialLaunch &launch, const Variables &of_slots,
                       const Variables &usual);

// What every process of a run has in its environment, each "NAME=value".
std::vector<std::string> marks_of(const TrialLaunch &launch);

}  // namespace det::launcher
