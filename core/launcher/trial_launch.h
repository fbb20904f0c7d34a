// How a trial is launched: its command, and what it is told about itself in variables (the
// platform's names).
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/base/json_fwd.h"
#include "core/engine/experiment.h"
#include "core/engine/runs/run_info.h"
#include "core/launcher/launcher.h"

namespace det::launcher {

// What is the same for each run of an experiment with this configuration, on processors or on GPUs.
TrialLaunch trial_launch(const Json &config, const engine::LaunchPlan &plan, bool on_gpus);

// What tells one run from the others.
std::map<std::string, std::string> trial_environment(const engine::RunInfo &run,
                                                     const std::filesystem::path &store_directory);

}  // namespace det::launcher
