// Reads event files as TensorBoard would, sharing nothing with the writer: checksums bit by bit,
// protobuf from its wire format.
#pragma once

#include <bit>
#include <cstring>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/file.h"

namespace det::tensorboard {

struct ReadEvent {
  double wall_time = 0;
  int64_t step = 0;
  std::string file_version;
  std::string tag;
  std::optional<float> value;
};

inline uint32_t slow_masked_crc32c(std::string_view bytes) {
  uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ (0x82F63B78U & (0U - (crc & 1U)));
  }
  return std::rotr(~crc, 15) + 0xa282ead8U;
}

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : bytes_(bytes) {}

  bool at_end() const { return bytes_.empty(); }

  template <class Number>
  Number fixed() {
    Number number;
    std::memcpy(&number, take(sizeof number).data(), sizeof number);
    return number;
  }

  uint64_t varint() {
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      number |= static_cast<uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80) return number;
    }
    throw std::runtime_error("varint too long");
  }

  std::string_view counted() { return take(varint()); }

  std::string_view take(size_t count) {
    if (count > bytes_.size()) throw std::runtime_error("cut short");
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

 private:
  std::string_view bytes_;
};

inline void read_value(std::string_view bytes, ReadEvent &event) {
  WireReader value(bytes);
  while (!value.at_end()) {
    const uint64_t key = value.varint();
    if (key == (1 << 3 | 2)) event.tag = value.counted();
    else if (key == (2 << 3 | 5)) event.value = value.fixed<float>();
    else throw std::runtime_error("unexpected field in a value");
  }
}

// One for each value.
inline void read_event(std::string_view payload, std::vector<ReadEvent> &events) {
  ReadEvent event;
  std::vector<std::string_view> values;
  WireReader fields(payload);
  while (!fields.at_end()) {
    const uint64_t key = fields.varint();
    if (key == (1 << 3 | 1)) {
      event.wall_time = fields.fixed<double>();
    } else if (key == (2 << 3 | 0)) {
      event.step = static_cast<int64_t>(fields.varint());
    } else if (key == (3 << 3 | 2)) {
      event.file_version = fields.counted();
    } else if (key == (5 << 3 | 2)) {
      WireReader summary(fields.counted());
      while (!summary.at_end()) {
        if (summary.varint() != (1 << 3 | 2))
          throw std::runtime_error("unexpected field in a summary");
        values.push_back(summary.counted());
      }
    } else {
      throw std::runtime_error("unexpected field in an event");
    }
  }
  if (values.empty()) events.push_back(event);
  for (const std::string_view value : values) read_value(value, events.emplace_back(event));
}

inline std::vector<ReadEvent> read_records(std::string_view bytes) {
  std::vector<ReadEvent> events;
  WireReader file(bytes);
  while (!file.at_end()) {
    const std::string_view length = file.take(8);
    if (file.fixed<uint32_t>() != slow_masked_crc32c(length))
      throw std::runtime_error("checksum of the length");
    const std::string_view payload = file.take(WireReader(length).fixed<uint64_t>());
    if (file.fixed<uint32_t>() != slow_masked_crc32c(payload))
      throw std::runtime_error("checksum of the payload");
    read_event(payload, events);
  }
  return events;
}

}  // namespace det::tensorboard
