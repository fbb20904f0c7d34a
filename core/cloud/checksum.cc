#include "core/cloud/checksum.h"

#include <algorithm>
#include <vector>

#include "core/base/crc32c.h"
#include "core/base/text/base64.h"

namespace det::cloud {

namespace {

// Remainders modulo the polynomial of the checksum: the highest bit stands for x^0.
uint32_t times_x(uint32_t value) { return (value >> 1U) ^ ((value & 1U) != 0 ? 0x82F63B78U : 0U); }

uint32_t product(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (uint32_t bit = uint32_t{1} << 31U; bit != 0; bit >>= 1U, b = times_x(b))
    if ((a & bit) != 0) sum ^= b;
  return sum;
}

}  // namespace

uint32_t crc32c(ByteRange &bytes) {
  if (const auto text = bytes.in_memory()) return det::crc32c(*text);
  uint32_t checksum = 0;
  std::vector<char> buffer(std::min<uint64_t>(bytes.size(), 256U << 10U));
  for (uint64_t offset = 0; offset < bytes.size();) {
    const size_t count = bytes.read(offset, buffer.data(), buffer.size());
    checksum = det::crc32c({buffer.data(), count}, checksum);
    offset += count;
  }
  return checksum;
}

// The first as it is with as many zero bytes behind it as the second has.
uint32_t joined_crc32c(uint32_t first, uint32_t second, uint64_t second_size) noexcept {
  uint32_t power = uint32_t{1} << 23U;  // x^8, then its square, and so on
  for (; second_size > 0; second_size >>= 1U, power = product(power, power))
    if ((second_size & 1U) != 0) first = product(first, power);
  return first ^ second;
}

std::string crc32c_text(uint32_t checksum) {
  std::string bytes;
  for (const unsigned shift : {24U, 16U, 8U, 0U})
    bytes += static_cast<char>((checksum >> shift) & 0xFFU);
  return to_base64(bytes);
}

std::optional<uint32_t> crc32c_in(const std::string &text) {
  const auto bytes = from_base64(text);
  if (!bytes || bytes->size() != 4) return std::nullopt;
  uint32_t checksum = 0;
  for (const char byte : *bytes) checksum = checksum << 8U | static_cast<unsigned char>(byte);
  return checksum;
}

void SummingSink::write(const char *bytes, size_t count) {
  into_->write(bytes, count);
  sum_ = det::crc32c({bytes, count}, sum_);
  size_ += count;
}

}  // namespace det::cloud
