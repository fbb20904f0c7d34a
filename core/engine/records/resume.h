// How to start a trial again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/base/json_fwd.h"
#include "core/engine/database.h"

namespace det::engine {

// For an experiment that a supervisor runs.
std::string run_again_command(const std::filesystem::path &store_directory, int64_t experiment_id);

// The command of the trial's last run, in its directory, with the variables that make it continue
// this trial; null when it is not known, as that of a launcher on another machine.
Json resume_command(Database &store, const std::filesystem::path &store_directory,
                    int64_t trial_id);

// What a person has to do where only the command of one rank of several is known; else null.
Json resume_note(Database &store, const std::filesystem::path &store_directory, int64_t trial_id);

}  // namespace det::engine
