// Ranks of runs whose process is gone and whose reports wait in their journals.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "core/base/log.h"
#include "core/base/report.h"
#include "core/engine/store.h"

namespace det::engine {

struct LeftBehind {
  int64_t trial_id = 0;
  int64_t run_id = 0;
  uint64_t reports = 0;     // delivered now
  uint64_t lost_bytes = 0;  // damaged and cut off
  uint64_t refused = 0;     // kept, since the master will not take them
};

struct Recovery {
  std::vector<LeftBehind> runs;
  int64_t busy = 0;  // directories of ranks that live
};

// Delivers the journals in `run_directory` to `sink`, removes those that are done, and counts in
// `found`. How a journal is read is known further up.
using ShipJournals = std::function<void(const std::filesystem::path &run_directory,
                                        ReportSink &sink, LeftBehind &found)>;

// Takes over the directory of every dead rank in an existing store, ships its journals, marks the
// rank, and with the chief the run, as ended and removes the directory. Ranks that live are left
// alone, also those of the same run. What cannot be recovered stays where it is and is told to
// `log`; the first such failure is thrown at the end.
Recovery recover_left_behind(const std::filesystem::path &store_directory, const ShipJournals &ship,
                             Logger &log, const StoreOptions &options = {});

}  // namespace det::engine
