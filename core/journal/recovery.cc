#include "core/journal/recovery.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/journal/record.h"
#include "core/journal/segment.h"

namespace det::journal {

namespace fs = std::filesystem;

namespace {

constexpr size_t batch_reports = 8192;

struct Found {
  uint64_t number;
  fs::path path;
};

// The segment files of a directory in the order of writing. None when the directory is gone.
std::vector<Found> segment_files(const fs::path &directory) {
  std::vector<Found> found;
  for (const std::string &name : entry_names(directory)) {
    uint64_t number = 0;
    std::from_chars(name.data(), name.data() + name.size(), number);
    if (name == segment_file_name(number)) found.push_back({number, directory / name});
  }
  std::sort(found.begin(), found.end(),
            [](const Found &a, const Found &b) { return a.number < b.number; });
  return found;
}

// Gives the reports of a segment to `take`, in batches; counts what is damaged.
void walk(const std::string &bytes, const SegmentHeader &header, RecoveredSpool &result,
          const std::function<void(std::span<const Report>)> &take) {
  const auto *data = reinterpret_cast<const std::byte *>(bytes.data());
  RecordCursor cursor(data, bytes.size(), header.sequence, segment_header_size);
  std::vector<Report> batch(1);
  size_t count = 0;
  while (cursor.next_left_behind(batch[count]) == RecordCursor::Step::record) {
    if (++count == batch_reports) {
      take({batch.data(), count});
      count = 0;
    }
    if (batch.size() == count) batch.emplace_back();
  }
  if (count > 0) take({batch.data(), count});
  result.lost_bytes += cursor.skipped_bytes();
  result.unfinished_bytes += cursor.unfinished_bytes();
}

// Nothing when the file says nothing yet: its writer died making it.
std::optional<SegmentHeader> header_of(const std::string &bytes, const fs::path &path) {
  if (bytes.empty()) return std::nullopt;
  return read_segment_header(reinterpret_cast<const std::byte *>(bytes.data()), bytes.size(),
                             path.string());
}

void remove_file(const fs::path &path) {
  std::error_code failure;
  if (!fs::remove(path, failure) && failure)
    OsFailure{failure.value()}.raise("removing the journal '" + path.string() + "'");
}

fs::path keep_damaged(const fs::path &path) {
  const fs::path aside = path.string() + ".damaged";
  std::error_code failure;
  fs::rename(path, aside, failure);
  if (failure) OsFailure{failure.value()}.raise("renaming the journal '" + path.string() + "'");
  return aside;
}

void recover_into(RecoveredSpool &result, const fs::path &run_directory, ReportSink &sink) {
  for (const Found &file : segment_files(run_directory)) {
    const std::string bytes = read_file(file.path);
    std::optional<SegmentHeader> header;
    try {
      header = header_of(bytes, file.path);
    } catch (const Error &error) {
      if (error.code != Code::corrupt) throw;
      result.damaged.push_back(keep_damaged(file.path));
      continue;
    }
    if (header) {
      if (result.key.journal_id.empty()) result.key = header->key;
      walk(bytes, *header, result, [&](std::span<const Report> reports) {
        result.told.add(sink.deliver(header->key, reports));
        result.reports += reports.size();
      });
    }
    remove_file(file.path);
  }
}

}  // namespace

RecoveredSpool recover_spool(const fs::path &run_directory, ReportSink &sink) {
  RecoveredSpool result;
  recover_into(result, run_directory, sink);
  return result;
}

RecoveredSpool recover_spool(const fs::path &run_directory, ReportSink &sink, Logger &logger) {
  RecoveredSpool result;
  try {
    recover_into(result, run_directory, sink);
  } catch (...) {
    result.told.add(sink.take_told());
    warn_of(std::move(result), logger);
    throw;
  }
  warn_of(result, logger);
  return result;
}

void warn_of(RecoveredSpool recovered, Logger &logger) {
  if (const std::optional<std::string> told = recovered.told.take())
    logger.warning("recovering reports: " + *told);
  for (const fs::path &file : recovered.damaged)
    logger.warning("recovering reports: '" + file.string() +
                   "' is damaged and cannot be read; it is kept under that name");
  const std::string where = " in the journal of rank " + std::to_string(recovered.key.rank) +
                            " of run " + std::to_string(recovered.key.run_id) + " of trial " +
                            std::to_string(recovered.key.trial_id);
  if (const uint64_t damaged = recovered.lost_bytes - recovered.unfinished_bytes; damaged > 0)
    logger.warning("recovering reports: " + std::to_string(damaged) + " bytes" + where +
                   " are damaged and were skipped; the reports in them are lost");
  if (recovered.unfinished_bytes > 0)
    logger.warning("recovering reports: " + std::to_string(recovered.unfinished_bytes) + " bytes" +
                   where +
                   " were being written when its process ended, and were skipped; a report "
                   "whose call has returned is not among them unless the machine went down");
}

RecoveredSpool count_waiting_reports(const fs::path &run_directory, uint64_t delivered) {
  RecoveredSpool result;
  for (const Found &file : segment_files(run_directory)) {
    try {
      const std::string bytes = read_file(file.path);
      const std::optional<SegmentHeader> header = header_of(bytes, file.path);
      if (!header) continue;
      if (result.key.journal_id.empty()) result.key = header->key;
      walk(bytes, *header, result, [&](std::span<const Report> reports) {
        result.reports += static_cast<uint64_t>(
            std::count_if(reports.begin(), reports.end(),
                          [&](const Report &report) { return report.sequence > delivered; }));
      });
    } catch (const Error &error) {
      if (error.code == Code::corrupt) result.damaged.push_back(file.path);
      else if (error.code != Code::not_found) throw;  // delivered and removed meanwhile
    }
  }
  return result;
}

}  // namespace det::journal
