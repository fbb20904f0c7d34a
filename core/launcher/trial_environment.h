// What the supervisor tells a trial about itself, in variables (the platform's names).
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/master/master.h"

namespace det {

std::map<std::string, std::string> trial_environment(const RunInfo &run,
                                                     const std::filesystem::path &store_directory);

}  // namespace det
