// CRC-32C (Castagnoli): the checksum of TensorBoard's record files and of object stores.
#pragma once

#include <cstdint>
#include <string_view>

namespace det {

// Of bytes that come in pieces: `before` is what the pieces so far gave.
uint32_t crc32c(std::string_view bytes, uint32_t before = 0) noexcept;

// The same, slower, for processors that have no instruction for it.
uint32_t crc32c_by_tables(std::string_view bytes, uint32_t before = 0) noexcept;

}  // namespace det
