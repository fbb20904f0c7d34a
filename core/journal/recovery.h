// Reports that a process left behind in its run directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/log/log.h"
#include "core/base/report.h"
#include "core/journal/told.h"

namespace det::journal {

struct RecoveredSpool {
  JournalKey key;                              // of the first file; empty when there was none
  uint64_t reports = 0;                        // delivered, or waiting
  uint64_t lost_bytes = 0;                     // torn or damaged, skipped
  uint64_t unfinished_bytes = 0;               // of these, appends that had not returned
  std::vector<std::filesystem::path> damaged;  // files whose header cannot be read
  Told told;                                   // by the deliveries
};

// Delivers what waits in the journal of a dead process (the caller has taken over its directory)
// and removes each file once its reports are delivered. A torn tail is cut and a hole skipped, by
// checksum: no append that returned is among what is lost. A file whose header is damaged is kept,
// renamed to end in ".damaged", and named in the result. Throws what the sink throws, and
// Code::unsupported for the journal of a newer release or another kind of machine; what is not
// delivered by then stays for the next attempt.
RecoveredSpool recover_spool(const std::filesystem::path &run_directory, ReportSink &sink);

// Warns of what there is to warn of as well, also where it throws.
RecoveredSpool recover_spool(const std::filesystem::path &run_directory, ReportSink &sink,
                             Logger &logger);

// Warns of what was lost and of what is in conflict.
void warn_of(RecoveredSpool recovered, Logger &logger);

// Counts the reports that wait, without touching anything; also while their owner lives. Those with
// a sequence up to `delivered` are left out.
RecoveredSpool count_waiting_reports(const std::filesystem::path &run_directory,
                                     uint64_t delivered = 0);

}  // namespace det::journal
