// What the supervisor tells a trial about itself, in variables (the platform's names).
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/master/master.h"

namespace det {

// Those that a configuration gives its trials, for processors or for GPUs.
std::map<std::string, std::string> configured_variables(const Json &config, bool for_gpus);

std::map<std::string, std::string> trial_environment(const RunInfo &run,
                                                     const std::filesystem::path &store_directory);

}  // namespace det
