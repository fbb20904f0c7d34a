#include "core/journal/record.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"

namespace det::journal {

namespace {

constexpr uint32_t record_magic = 0x52544544;  // "DETR"
constexpr uint32_t seal_magic = 0x4C414553;    // "SEAL"

// Behind it: the values, the sizes of their names (a byte each), the group, the names; or the group
// and the texts.
struct Head {
  uint64_t mark;      // length in the low half, magic in the high one
  uint64_t checksum;  // of [offsetof(sequence), length)
  uint64_t sequence;
  int64_t time_us;
  int64_t steps;   // the bits of `number` in a progress record
  uint32_t count;  // values; or bytes of `text`
  uint8_t kind;
  uint8_t level;  // of a log line; of metrics the low half of `rank`
  uint8_t group_size;
  uint8_t rank_high;
};
static_assert(sizeof(Head) == 48);

constexpr uint64_t unchecked = offsetof(Head, sequence);

constexpr uint64_t aligned(uint64_t size) { return (size + 7) & ~uint64_t{7}; }

uint64_t exact_size(const RecordContent &content) {
  uint64_t size = sizeof(Head) + content.group.size() + content.text.size() +
                  content.batches.size() + content.count * (sizeof(double) + 1);
  for (size_t i = 0; i < content.count; ++i) size += content.name_sizes[i];
  return size;
}

std::atomic_ref<uint64_t> mark_at(const std::byte *at) {
  // There is no atomic_ref to const; the readers only load.
  return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t *>(const_cast<std::byte *>(at)));
}

// Many bits away from the mark of any record.
uint64_t seal_mark(uint64_t sequence) {
  return uint64_t{seal_magic} << 32U | (~sequence & 0xFFFFFFFFU);
}

// By moves that overlap: for a handful of bytes a call of memcpy costs several times the copy.
template <size_t half>
void put_overlapping(std::byte *at, const std::byte *from, size_t size) {
  std::memcpy(at, from, half);
  std::memcpy(at + size - half, from + size - half, half);
}

std::byte *put(std::byte *at, const void *data, size_t size) {
  const auto *from = static_cast<const std::byte *>(data);
  if (size > 32) std::memcpy(at, from, size);
  else if (size >= 16) put_overlapping<16>(at, from, size);
  else if (size >= 8) put_overlapping<8>(at, from, size);
  else if (size >= 4) put_overlapping<4>(at, from, size);
  else
    for (size_t i = 0; i < size; ++i) at[i] = from[i];
  return at + size;
}

// Takes pieces off the front of a record; `sound` turns false where one does not fit.
struct Pieces {
  const char *at;
  uint64_t left;
  bool sound = true;

  std::string_view take(uint64_t size) {
    if (size > left) {
      sound = false;
      return {};
    }
    left -= size;
    return {std::exchange(at, at + size), size};
  }
};

bool take_values(Pieces &pieces, const Head &head, Report &report) {
  const std::string_view values = pieces.take(uint64_t{head.count} * sizeof(double));
  const std::string_view sizes = pieces.take(head.count);
  report.group = pieces.take(head.group_size);
  if (!pieces.sound) return false;
  report.values.resize(head.count);
  for (size_t i = 0; i < head.count; ++i) {
    report.values[i].name = pieces.take(static_cast<uint8_t>(sizes[i]));
    std::memcpy(&report.values[i].value, values.data() + i * sizeof(double), sizeof(double));
  }
  return pieces.sound;
}

bool take_record(Pieces pieces, const Head &head, Report &report) {
  report.sequence = head.sequence;
  report.time_us = head.time_us;
  report.kind = static_cast<ReportKind>(head.kind);
  const bool metrics =
      report.kind == ReportKind::metrics || report.kind == ReportKind::metrics_json;
  report.level = metrics ? 0 : head.level;
  report.rank = metrics ? head.level | head.rank_high << 8 : 0;
  report.steps = 0;
  report.number = 0;
  report.values.clear();
  report.text = report.batches = {};
  if (report.kind == ReportKind::progress) report.number = std::bit_cast<double>(head.steps);
  else report.steps = head.steps;
  if (report.kind == ReportKind::metrics) return take_values(pieces, head, report);
  report.group = pieces.take(head.group_size);
  report.text = pieces.take(head.count);
  report.batches = pieces.take(pieces.left);
  return pieces.sound;
}

}  // namespace

uint64_t record_size(const RecordContent &content) {
  const uint64_t size = exact_size(content);
  if (content.group.size() > 255)
    throw Error(Code::invalid, "reporting metrics: the group's name has " +
                                   std::to_string(content.group.size()) + " bytes; use 1 to 255");
  if (size > max_record_size)
    throw Error(Code::invalid, "recording a report of " + std::to_string(size) +
                                   " bytes: at most " + std::to_string(max_record_size) +
                                   " are possible; report in parts");
  return aligned(size);
}

void write_record(std::byte *at, const RecordContent &content, uint64_t sequence,
                  int64_t time_us) noexcept {
  Head &head = *reinterpret_cast<Head *>(at);
  const bool metrics = content.kind == ReportKind::metrics;
  head.sequence = sequence;
  head.time_us = time_us;
  head.steps =
      content.kind == ReportKind::progress ? std::bit_cast<int64_t>(content.number) : content.steps;
  head.count = static_cast<uint32_t>(metrics ? content.count : content.text.size());
  head.kind = static_cast<uint8_t>(content.kind);
  head.level = static_cast<uint8_t>(content.rank != 0 ? content.rank : content.level);
  head.rank_high = static_cast<uint8_t>(content.rank >> 8U);
  head.group_size = static_cast<uint8_t>(content.group.size());

  std::byte *to = at + sizeof(Head);
  for (size_t i = 0; i < content.count; ++i) to = put(to, &content.values[i].value, sizeof(double));
  to = put(to, content.name_sizes, content.count);
  to = put(to, content.group.data(), content.group.size());
  for (size_t i = 0; i < content.count; ++i)
    to = put(to, content.values[i].name, content.name_sizes[i]);
  to = put(to, content.text.data(), content.text.size());
  to = put(to, content.batches.data(), content.batches.size());

  const auto length = static_cast<uint64_t>(to - at);
  head.checksum = checksum64(at + unchecked, length - unchecked);
  mark_at(at).store(uint64_t{record_magic} << 32U | length, std::memory_order_release);
}

void write_seal(std::byte *at, uint64_t sequence) noexcept {
  mark_at(at).store(seal_mark(sequence), std::memory_order_release);
}

bool RecordCursor::read_at(uint64_t offset, Report &report, uint64_t &length) const {
  const std::byte *at = data_ + offset;
  const uint64_t mark = mark_at(at).load(std::memory_order_acquire);
  if (mark >> 32U != record_magic) return false;
  length = mark & 0xFFFFFFFFU;
  if (length < sizeof(Head) || length > size_ - offset) return false;
  Head head;
  std::memcpy(&head, at, sizeof head);
  if (head.sequence != sequence_ + offset) return false;
  if (head.checksum != checksum64(at + unchecked, length - unchecked)) return false;
  return take_record({reinterpret_cast<const char *>(at + sizeof head), length - sizeof head}, head,
                     report);
}

RecordCursor::Step RecordCursor::next(Report &report) { return step(report, true); }

RecordCursor::Step RecordCursor::next_left_behind(Report &report) {
  do {
    const Step found = step(report, false);
    if (found != Step::unpublished) return found;
  } while (skip_damage(report, false));
  // Nothing valid follows: cut what was begun.
  uint64_t end = size_;
  while (end > offset_ && data_[end - 1] == std::byte{0}) --end;
  skip_to(end);
  offset_ = size_;
  return Step::end;
}

RecordCursor::Step RecordCursor::step(Report &report, bool in_use) {
  for (;;) {
    if (size_ - offset_ < sizeof(uint64_t)) return Step::end;
    const uint64_t mark = mark_at(data_ + offset_).load(std::memory_order_acquire);
    if (mark == 0) return Step::unpublished;
    if (mark == seal_mark(position())) {
      offset_ = size_;
      return Step::end;
    }
    uint64_t length = 0;
    if (read_at(offset_, report, length)) {
      offset_ = std::min(offset_ + aligned(length), size_);
      return Step::record;
    }
    if (!skip_damage(report, in_use)) return Step::unpublished;
  }
}

bool RecordCursor::skip_damage(Report &report, bool in_use) {
  uint64_t length = 0;
  for (uint64_t at = offset_ + 8; at + sizeof(uint64_t) <= size_; at += 8) {
    const uint64_t mark = mark_at(data_ + at).load(std::memory_order_acquire);
    if (mark == 0) continue;
    // A text inside the damage may look like a seal, which has no checksum. Only a segment in use
    // needs one to come to its end.
    const bool seal = in_use && mark == seal_mark(sequence_ + at);
    if (!seal && !read_at(at, report, length)) continue;
    skip_to(at);
    return true;
  }
  return false;
}

void RecordCursor::skip_to(uint64_t offset) {
  const auto mark_of = [&](uint64_t at) {
    return mark_at(data_ + at).load(std::memory_order_relaxed);
  };
  bool was_published = offset > offset_ && mark_of(offset_) != 0;
  for (uint64_t at = offset_; at + sizeof(uint64_t) <= offset; at += 8)
    if (mark_of(at) >> 32U == record_magic) was_published = true;
  skipped_ += offset - offset_;
  if (!was_published) unfinished_ += offset - offset_;
  offset_ = offset;
}

}  // namespace det::journal
