#include "core/base/text/utf8.h"

#include <cstdint>
#include <cstring>

namespace det {

namespace {

// Bytes of the character at the front of `text`; 0 when there is none.
size_t character_size(std::string_view text) noexcept {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t size = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (size == 0 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  const unsigned char second = byte(1);
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F)) return 0;
  if ((lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) return 0;
  return size;
}

bool is_ascii(std::string_view text) noexcept {
  uint64_t bits = 0;
  for (; text.size() >= sizeof bits; text.remove_prefix(sizeof bits)) {
    uint64_t word;
    std::memcpy(&word, text.data(), sizeof word);
    bits |= word;
  }
  for (const char c : text) bits |= static_cast<unsigned char>(c);
  return (bits & 0x8080808080808080U) == 0;
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
  if (is_ascii(text)) return true;
  while (!text.empty()) {
    const size_t size = character_size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string to_utf8(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const size_t size = character_size(text);
    out += size == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, size);
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

int32_t take_character(std::string_view &text) noexcept {
  const size_t size = character_size(text);
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  int32_t character = size == 0 ? -1 : size == 1 ? byte(0) : byte(0) & (0x7F >> size);
  for (size_t i = 1; i < size; ++i) character = (character << 6) | (byte(i) & 0x3F);
  text.remove_prefix(size == 0 ? 1 : size);
  return character;
}

}  // namespace det
