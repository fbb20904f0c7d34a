// Ranks whose process is gone and whose reports wait in their journals.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "core/base/log/log.h"

namespace det::journal {

struct RecoveredRank {
  int64_t trial_id = 0;
  int64_t run_id = 0;
  uint64_t reports = 0;     // delivered now
  uint64_t lost_bytes = 0;  // damaged or unfinished, skipped
  uint64_t refused = 0;     // kept, since the master will not take them
};

struct Recovery {
  std::vector<RecoveredRank> ranks;
  int64_t busy = 0;  // directories of ranks that live
};

// Takes over those of these directories whose rank is dead, one after the other, and has `recover`
// deliver what is in each; nothing: there is nothing to tell of it. What cannot be recovered stays
// where it is and is told to `logger`; the first such failure is thrown at the end.
Recovery recover_dead_ranks(
    const std::vector<std::filesystem::path> &run_directories, Logger &logger,
    const std::function<std::optional<RecoveredRank>(const std::filesystem::path &)> &recover);

}  // namespace det::journal
