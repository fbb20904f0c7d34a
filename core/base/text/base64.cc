#include "core/base/text/base64.h"

#include <algorithm>
#include <cstdint>

namespace det {

namespace {

constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  for (; !bytes.empty(); bytes.remove_prefix(std::min<size_t>(3, bytes.size()))) {
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i)
      bits = bits << 8U | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U);
    for (size_t i = 0; i < 4; ++i)
      text += i <= bytes.size() ? digits[bits >> (18U - 6U * i) & 63U] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  size_t count = 0, padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    const size_t digit = c == '=' ? 0 : digits.find(c);
    if (digit == digits.npos || (padding > 0 && c != '=')) return std::nullopt;
    if (c == '=') ++padding;
    bits = bits << 6U | static_cast<uint32_t>(digit);
    if (++count % 4 != 0) continue;
    for (const unsigned shift : {16U, 8U, 0U}) bytes += static_cast<char>(bits >> shift & 0xFFU);
  }
  if (count % 4 != 0 || padding > 2) return std::nullopt;
  bytes.resize(bytes.size() - padding);
  return bytes;
}

}  // namespace det
