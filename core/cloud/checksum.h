// CRC-32C as object stores list it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/cloud/byte_range.h"

namespace det::cloud {

uint32_t crc32c(ByteRange &bytes);  // reads them
// What it was when they were read last: the store refuses other bytes.
inline uint32_t expected_crc32c(ByteRange &bytes) {
  return bytes.crc32c ? *bytes.crc32c : crc32c(bytes);
}

// Of two texts in a row, from those of each.
uint32_t joined_crc32c(uint32_t first, uint32_t second, uint64_t second_size) noexcept;

// Its four bytes, the highest first, in base64.
std::string crc32c_text(uint32_t checksum);
std::optional<uint32_t> crc32c_in(const std::string &text);  // nothing: it is none

}  // namespace det::cloud
