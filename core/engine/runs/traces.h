// Where the regions of trials are kept for traces: a file for each rank of a run, in the directory
// of the experiment, with which they are deleted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/engine/runs/run_info.h"

namespace det::engine {

// Of a run that starts. Removes that of the rank in a run long before.
std::filesystem::path place_for_trace(const std::filesystem::path &store_directory,
                                      const RunInfo &run, int rank);

// Those there are of a trial, by run and rank.
std::vector<std::filesystem::path> traces_of(const std::filesystem::path &store_directory,
                                             int64_t experiment_id, int64_t trial_id);

}  // namespace det::engine
