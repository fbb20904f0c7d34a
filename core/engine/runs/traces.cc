#include "core/engine/runs/traces.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <string>

#include "core/base/file.h"
#include "core/engine/experiment.h"
#include "core/profiler/regions/trace_file.h"

namespace det::engine {

namespace fs = std::filesystem;

namespace {

// A trial that is stopped and started again and again does not fill the disk.
constexpr int64_t runs_kept = 10;

fs::path traces_directory(const fs::path &store_directory, int64_t experiment_id,
                          int64_t trial_id) {
  return experiment_directory(store_directory, experiment_id) / "traces" / std::to_string(trial_id);
}

std::string trace_name(int64_t run_id, int rank) {
  return std::to_string(run_id) + "." + std::to_string(rank).append(profiler::trace_extension);
}

}  // namespace

fs::path place_for_trace(const fs::path &store_directory, const RunInfo &run, int rank) {
  const fs::path directory = traces_directory(store_directory, run.experiment_id, run.trial_id);
  unlink((directory / trace_name(run.run_id - runs_kept, rank)).c_str());
  return directory / trace_name(run.run_id, rank);
}

std::vector<fs::path> traces_of(const fs::path &store_directory, int64_t experiment_id,
                                int64_t trial_id) {
  const fs::path directory = traces_directory(store_directory, experiment_id, trial_id);
  std::vector<std::pair<std::array<int64_t, 2>, fs::path>> found;
  for (const std::string &name : entry_names(directory)) {
    std::array<int64_t, 2> numbers{};  // run, rank
    if (name.ends_with(profiler::trace_extension) &&
        std::sscanf(name.c_str(), "%" SCNd64 ".%" SCNd64, &numbers[0], &numbers[1]) == 2)
      found.push_back({numbers, directory / name});
  }
  std::sort(found.begin(), found.end());
  std::vector<fs::path> paths;
  for (auto &[key, path] : found) paths.push_back(std::move(path));
  return paths;
}

}  // namespace det::engine
