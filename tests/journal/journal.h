// A journal in a temporary directory, and reports to fill it with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/journal/spool.h"
#include "tests/temporary_directory.h"

namespace det::journal {

struct Journal {
  TemporaryDirectory directory;
  JournalKey key{
      .trial_id = 7, .run_id = 2, .rank = 1, .journal_id = "01234567-89ab-4cde-8f01-23456789abcd"};

  // Small files, so that a test crosses from one to the next often.
  std::unique_ptr<Spool> open(SpoolOptions options = {.segment_bytes = 4096}) const {
    return Spool::create(directory.path(), key, options);
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(directory.path()))
      names.push_back(entry.path().filename().string());
    return names;
  }
};

// One report of one value; `thread` tells writers apart.
inline uint64_t report_step(Spool &spool, int64_t step, int thread = 0) {
  const NamedValue value{"loss", static_cast<double>(thread)};
  return spool.append_metrics("training", step, &value, 1);
}

}  // namespace det::journal
