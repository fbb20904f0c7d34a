// One report as bytes in the journal.
//
// A record is 8-byte aligned and begins with a mark (a magic number and the length) that is written
// last, and a checksum of everything behind it, which includes the record's sequence. So a record
// counts only when it is complete, and only at the place it was written for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/report.h"

namespace det::journal {

// One value as the caller has it: the layout of det_metric.
struct NamedValue {
  const char *name;
  double value;
};

// Beyond this a report is refused.
inline constexpr uint64_t max_record_size = uint64_t{16} << 20U;

// What a record is made of; see Report.
struct RecordContent {
  ReportKind kind = ReportKind::metrics;
  int level = 0;
  int64_t steps = 0;
  std::string_view group = {};
  const NamedValue *values = nullptr;
  const uint8_t *name_sizes = nullptr;  // one for each value
  size_t count = 0;
  std::string_view text = {};
  std::string_view batches = {};
  double number = 0;
  uint16_t rank = 0;
};

// Bytes the record takes, a multiple of 8. Throws Code::invalid beyond max_record_size.
uint64_t record_size(const RecordContent &content);

// Writes the record to `at` and publishes it.
void write_record(std::byte *at, const RecordContent &content, uint64_t sequence,
                  int64_t time_us) noexcept;

// Marks the rest of a segment as never to be used.
void write_seal(std::byte *at, uint64_t sequence) noexcept;

// Walks the records of one segment.
class RecordCursor {
 public:
  RecordCursor() = default;
  // `sequence` is that of offset 0 of `data`, which is 8-byte aligned.
  RecordCursor(const std::byte *data, uint64_t size, uint64_t sequence, uint64_t offset)
      : data_(data), size_(size), sequence_(sequence), offset_(offset) {}

  enum class Step { record, unpublished, end };

  // Moves over the next record and gives it. Something that is no record is skipped and counted,
  // if one follows. In a segment in use, `unpublished` is the end of what there is so far.
  Step next(Report &report);

  // The same for a segment whose writer is gone: a hole that was never published is skipped too.
  Step next_left_behind(Report &report);

  uint64_t position() const noexcept { return sequence_ + offset_; }
  uint64_t skipped_bytes() const noexcept { return skipped_; }
  // Those of them that were reserved and never published: no append that returned made them.
  uint64_t unfinished_bytes() const noexcept { return unfinished_; }

 private:
  bool read_at(uint64_t offset, Report &report, uint64_t &length) const;
  Step step(Report &report, bool in_use);
  bool skip_damage(Report &scratch, bool in_use);
  void skip_to(uint64_t offset);

  const std::byte *data_ = nullptr;
  uint64_t size_ = 0;
  uint64_t sequence_ = 0;
  uint64_t offset_ = 0;
  uint64_t skipped_ = 0;
  uint64_t unfinished_ = 0;
};

}  // namespace det::journal
