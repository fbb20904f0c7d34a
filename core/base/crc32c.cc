#include "core/base/crc32c.h"

#include <array>
#include <cstring>
#ifdef __x86_64__
#include <nmmintrin.h>
#endif

namespace det {

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

#ifdef __x86_64__
__attribute__((target("sse4.2"))) uint32_t by_instruction(std::string_view bytes,
                                                          uint32_t before) noexcept {
  uint64_t crc = ~before;
  const char *at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  auto last = static_cast<uint32_t>(crc);
  for (; left > 0; ++at, --left) last = _mm_crc32_u8(last, static_cast<unsigned char>(*at));
  return ~last;
}
#endif

}  // namespace

uint32_t crc32c_by_tables(std::string_view bytes, uint32_t before) noexcept {
  uint32_t crc = ~before;
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

uint32_t crc32c(std::string_view bytes, uint32_t before) noexcept {
#ifdef __x86_64__
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction) return by_instruction(bytes, before);
#endif
  return crc32c_by_tables(bytes, before);
}

}  // namespace det
