// Any bytes in place of a journal, and damage to a good one: no record is made up, and the cursor
// always comes to the end.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/base/error.h"
#include "core/journal/record.h"
#include "core/journal/segment.h"

namespace {

using namespace det;

constexpr uint64_t first_sequence = 1000;

// Walks all records; gives the steps of each.
std::vector<int64_t> walk(const std::vector<uint64_t> &bytes, uint64_t size, uint64_t sequence,
                          uint64_t offset) {
  journal::RecordCursor cursor(reinterpret_cast<const std::byte *>(bytes.data()), size, sequence,
                               offset);
  std::vector<int64_t> steps;
  Report report;
  uint64_t last = 0;
  while (cursor.next_left_behind(report) == journal::RecordCursor::Step::record) {
    if (report.sequence <= last || report.group.size() > 255) std::abort();
    last = report.sequence;
    steps.push_back(report.steps);
  }
  if (cursor.skipped_bytes() > size) std::abort();
  return steps;
}

void walk_anything(const uint8_t *data, size_t size) {
  std::vector<uint64_t> bytes(size / 8 + 1);
  std::memcpy(bytes.data(), data, size);
  uint64_t sequence = first_sequence;
  try {
    sequence = journal::read_segment_header(reinterpret_cast<const std::byte *>(bytes.data()), size,
                                            "input")
                   .sequence;
  } catch (const Error &e) {
    if (e.code != Code::corrupt && e.code != Code::unsupported) std::abort();
  }
  if (size >= journal::segment_header_size)
    walk(bytes, size, sequence, journal::segment_header_size);
  walk(bytes, size, sequence, 0);
}

// The input as the texts of records, one for each line, of which one byte is then turned.
void damage_one_byte(const uint8_t *data, size_t size) {
  if (size < 4) return;
  const uint64_t place = data[0] | uint64_t{data[1]} << 8U;
  const uint8_t turn = data[2];
  std::vector<uint64_t> bytes(8 * (size + 8));
  auto *at = reinterpret_cast<std::byte *>(bytes.data());
  uint64_t used = 0;
  int64_t count = 0;
  const std::string_view text(reinterpret_cast<const char *>(data) + 3, size - 3);
  std::string_view rest = text;
  while (!rest.empty()) {
    journal::RecordContent content;
    content.kind = ReportKind::status;
    content.steps = ++count;
    content.text = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), content.text.size() + 1));
    journal::write_record(at + used, content, first_sequence + used, 1);
    used += journal::record_size(content);
  }
  const bool damaged = turn != 0;
  at[place % used] ^= std::byte{turn};
  const std::vector<int64_t> steps = walk(bytes, used, first_sequence, 0);
  // A text may hold a record forged for its place, which counts once the one around it is damaged.
  if (damaged && text.find("DETR") != text.npos) return;
  // One record at most is lost, and the others come in order.
  const auto found = static_cast<int64_t>(steps.size());
  if (found > count || found < count - (damaged ? 1 : 0)) std::abort();
  if (!std::is_sorted(steps.begin(), steps.end())) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  walk_anything(data, size);
  damage_one_byte(data, size);
  return 0;
}
