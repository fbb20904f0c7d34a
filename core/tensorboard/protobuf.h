// Messages on the wire of Protocol Buffers, written field by field.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace det::tensorboard {
namespace protobuf {

inline void append_little_endian(std::string &out, std::unsigned_integral auto number) {
  char bytes[sizeof number];
  for (size_t i = 0; i < sizeof number; ++i)
    bytes[i] = static_cast<char>(number >> (8 * i) & 0xFFU);
  out.append(bytes, sizeof number);
}

inline void append_varint(std::string &out, uint64_t number) {
  for (; number >= 0x80; number >>= 7U) out += static_cast<char>((number & 0x7FU) | 0x80U);
  out += static_cast<char>(number);
}

inline size_t varint_size(uint64_t number) {
  return (static_cast<size_t>(std::bit_width(number | 1U)) + 6) / 7;
}

// How the bytes of a field are counted.
enum class Wire : unsigned { varint = 0, eight_bytes = 1, counted = 2, four_bytes = 5 };

// Of fields below 16, which are all that are written here.
inline void append_key(std::string &out, unsigned field, Wire wire) {
  out += static_cast<char>(field * 8 + static_cast<unsigned>(wire));
}

inline void append_whole(std::string &out, unsigned field, uint64_t number) {
  append_key(out, field, Wire::varint);
  append_varint(out, number);
}

inline void append_double(std::string &out, unsigned field, double number) {
  append_key(out, field, Wire::eight_bytes);
  append_little_endian(out, std::bit_cast<uint64_t>(number));
}

inline void append_float(std::string &out, unsigned field, float number) {
  append_key(out, field, Wire::four_bytes);
  append_little_endian(out, std::bit_cast<uint32_t>(number));
}

// A text, bytes, or a message.
inline void append_bytes(std::string &out, unsigned field, std::string_view bytes) {
  append_key(out, field, Wire::counted);
  append_varint(out, bytes.size());
  out += bytes;
}

// What append_bytes() appends for so many bytes.
inline size_t bytes_size(size_t size) { return 1 + varint_size(size) + size; }

}  // namespace protobuf
}  // namespace det::tensorboard
