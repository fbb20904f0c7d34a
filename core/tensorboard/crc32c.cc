#include "core/tensorboard/crc32c.h"

#include <array>

namespace det::tensorboard {

namespace {

constexpr uint32_t polynomial = 0x82F63B78;  // bits in reverse

// tables[k][b]: the effect of byte b with k zero bytes behind it, so that eight bytes are looked up
// independently of each other.
constexpr auto tables = [] {
  std::array<std::array<uint32_t, 256>, 8> made{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? polynomial : 0);
    made[0][byte] = crc;
  }
  for (size_t k = 1; k < made.size(); ++k)
    for (size_t byte = 0; byte < 256; ++byte)
      made[k][byte] = (made[k - 1][byte] >> 8U) ^ made[0][made[k - 1][byte] & 0xFFU];
  return made;
}();

}  // namespace

uint32_t crc32c(std::string_view bytes) noexcept {
  uint32_t crc = 0xFFFFFFFF;
  size_t at = 0;
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[at + i]); };
  for (; bytes.size() - at >= 8; at += 8) {
    crc = tables[7][byte(0) ^ (crc & 0xFFU)] ^ tables[6][byte(1) ^ ((crc >> 8U) & 0xFFU)] ^
          tables[5][byte(2) ^ ((crc >> 16U) & 0xFFU)] ^ tables[4][byte(3) ^ (crc >> 24U)] ^
          tables[3][byte(4)] ^ tables[2][byte(5)] ^ tables[1][byte(6)] ^ tables[0][byte(7)];
  }
  for (; at < bytes.size(); ++at) crc = (crc >> 8U) ^ tables[0][byte(0) ^ (crc & 0xFFU)];
  return ~crc;
}

}  // namespace det::tensorboard
