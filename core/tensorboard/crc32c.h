// CRC-32C (Castagnoli), the checksum of TensorBoard's record files.
#pragma once

#include <cstdint>
#include <string_view>

namespace det::tensorboard {

uint32_t crc32c(std::string_view bytes) noexcept;

}  // namespace det::tensorboard
