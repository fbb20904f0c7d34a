// Ranks of runs whose process is gone and whose reports wait in their journals.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "core/base/report.h"

namespace det {

struct LeftBehind {
  int64_t trial_id = 0;
  int64_t run_id = 0;
  uint64_t reports = 0;     // delivered now
  uint64_t lost_bytes = 0;  // damaged and cut off
};

struct Recovery {
  std::vector<LeftBehind> runs;
  int64_t busy = 0;  // directories of ranks that live
};

// Delivers the journals in `run_directory` to `sink`, removes those that are done, and counts in
// `found`. How a journal is read is known further up.
using ShipJournals = std::function<void(const std::filesystem::path &run_directory,
                                        ReportSink &sink, LeftBehind &found)>;

}  // namespace det
