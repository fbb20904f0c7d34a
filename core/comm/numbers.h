// Numbers as they travel between ranks: their lowest byte first.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <string>

namespace det::comm {

template <class Integer>
Integer little_endian(Integer value) {
  if constexpr (std::endian::native == std::endian::little) return value;
  Integer swapped = 0;
  for (size_t i = 0; i < sizeof value; ++i, value >>= 8) swapped = swapped << 8 | (value & 0xff);
  return swapped;
}

template <class Integer>
void put_number(char *at, Integer value) {
  value = little_endian(value);
  std::memcpy(at, &value, sizeof value);
}

template <class Integer>
void append_number(std::string &bytes, Integer value) {
  bytes.resize(bytes.size() + sizeof value);
  put_number(&bytes[bytes.size() - sizeof value], value);
}

template <class Integer>
Integer take_number(const char *at) {
  Integer value;
  std::memcpy(&value, at, sizeof value);
  return little_endian(value);
}

}  // namespace det::comm
