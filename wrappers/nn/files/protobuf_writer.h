// Messages in the wire format of Protocol Buffers: a number of a field and of its kind, then its
// value.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace det::nn {

class ProtobufWriter {
 public:
  void integer(uint32_t field, int64_t value) {
    key(field, 0);
    varint(static_cast<uint64_t>(value));
  }
  void floating(uint32_t field, float value) {
    key(field, 5);
    const auto bits = std::bit_cast<uint32_t>(value);
    for (unsigned shift = 0; shift < 32; shift += 8) text_ += static_cast<char>(bits >> shift);
  }
  void bytes(uint32_t field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    text_ += value;
  }
  void message(uint32_t field, const ProtobufWriter &value) { bytes(field, value.text_); }

  const std::string &text() const { return text_; }

 private:
  void key(uint32_t field, uint32_t kind) { varint(field << 3U | kind); }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7U) text_ += static_cast<char>(value | 0x80U);
    text_ += static_cast<char>(value);
  }

  std::string text_;
};

}  // namespace det::nn
