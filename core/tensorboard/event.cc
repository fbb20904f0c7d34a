#include "core/tensorboard/event.h"

#include <bit>
#include <concepts>

#include "core/base/crc32c.h"

namespace det::tensorboard {

namespace {

// Protobuf keys: field number * 8 + wire type (0 varint, 1 eight bytes, 2 counted, 5 four bytes).
enum Key : char {
  event_wall_time = 1 * 8 + 1,
  event_step = 2 * 8 + 0,
  event_file_version = 3 * 8 + 2,
  event_summary = 5 * 8 + 2,
  summary_value = 1 * 8 + 2,
  value_tag = 1 * 8 + 2,
  value_simple = 2 * 8 + 5,
};

void append_little_endian(std::string &out, std::unsigned_integral auto number) {
  for (size_t i = 0; i < sizeof number; ++i) out += static_cast<char>(number >> (8 * i) & 0xFFU);
}

void append_varint(std::string &out, uint64_t number) {
  for (; number >= 0x80; number >>= 7U) out += static_cast<char>((number & 0x7FU) | 0x80U);
  out += static_cast<char>(number);
}

size_t varint_size(uint64_t number) {
  return (static_cast<size_t>(std::bit_width(number | 1U)) + 6) / 7;
}

// A checksum of data that itself holds checksums is weak, so they are stored masked.
uint32_t masked(uint32_t crc) { return ((crc >> 15U) | (crc << 17U)) + 0xa282ead8U; }

// Length, its checksum, the payload, its checksum.
void append_record(std::string &out, std::string_view payload) {
  std::string length;
  append_little_endian(length, uint64_t{payload.size()});
  out += length;
  append_little_endian(out, masked(crc32c(length)));
  out += payload;
  append_little_endian(out, masked(crc32c(payload)));
}

std::string event_at(double wall_time) {
  std::string event(1, event_wall_time);
  append_little_endian(event, std::bit_cast<uint64_t>(wall_time));
  return event;
}

}  // namespace

void append_version_event(std::string &out, double wall_time) {
  static constexpr std::string_view version = "brain.Event:2";
  std::string event = event_at(wall_time);
  event += event_file_version;
  append_varint(event, version.size());
  event += version;
  append_record(out, event);
}

void append_scalar_event(std::string &out, double wall_time, int64_t step, std::string_view tag,
                         float value) {
  std::string event = event_at(wall_time);
  event += event_step;
  append_varint(event, static_cast<uint64_t>(step));
  const size_t value_size = 1 + varint_size(tag.size()) + tag.size() + 1 + sizeof value;
  event += event_summary;
  append_varint(event, 1 + varint_size(value_size) + value_size);
  event += summary_value;
  append_varint(event, value_size);
  event += value_tag;
  append_varint(event, tag.size());
  event += tag;
  event += value_simple;
  append_little_endian(event, std::bit_cast<uint32_t>(value));
  append_record(out, event);
}

}  // namespace det::tensorboard
