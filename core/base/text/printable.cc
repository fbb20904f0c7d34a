#include "core/base/text/printable.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "core/base/text/utf8.h"

namespace det {

namespace {

struct CharacterSpan {
  int32_t first, last;
};

// The joiners U+200C and U+200D are none of them: scripts and emoji are written with them.
constexpr std::array<CharacterSpan, 12> steering_characters{{{0x0, 0x1F},
                                                             {0x7F, 0x9F},
                                                             {0x61C, 0x61C},
                                                             {0x180E, 0x180E},
                                                             {0x200B, 0x200B},
                                                             {0x200E, 0x200F},
                                                             {0x2028, 0x202E},
                                                             {0x2060, 0x206F},
                                                             {0xFEFF, 0xFEFF},
                                                             {0xFFF9, 0xFFFB},
                                                             {0x1D173, 0x1D17A},
                                                             {0xE0000, 0xE0FFF}}};

// What stands for one character; `bytes` are its own.
class ShownCharacter {
 public:
  ShownCharacter(int32_t character, std::string_view bytes) noexcept : text_(bytes) {
    if (character >= 0 && !steers_text(character)) return;
    const char *format = character > 0xFFFF ? "\\U%08x" : character > 0x7F ? "\\u%04x" : "\\x%02x";
    const auto number = static_cast<unsigned>(character < 0 ? static_cast<unsigned char>(bytes[0])
                                                            : static_cast<unsigned>(character));
    if (character == '\n') format = "\\n";
    if (character == '\t') format = "\\t";
    const int size = std::snprintf(escape_.data(), escape_.size(), format, number);
    text_ = {escape_.data(), static_cast<size_t>(size)};
  }
  std::string_view text() const noexcept { return text_; }

 private:
  std::array<char, 12> escape_;
  std::string_view text_;
};

// `take` gets what to show, character by character, until it answers false.
template <class Take>
void each_shown(std::string_view text, Take &&take) {
  while (!text.empty()) {
    const std::string_view before = text;
    const int32_t character = take_character(text);
    if (!take(ShownCharacter(character, before.substr(0, before.size() - text.size())).text()))
      return;
  }
}

}  // namespace

bool steers_text(int32_t character) noexcept {
  for (const CharacterSpan &span : steering_characters)
    if (character <= span.last) return character >= span.first;
  return false;
}

bool is_plain(std::string_view text) noexcept {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c < '\x7f'; });
}

std::string printable(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  each_shown(text, [&](std::string_view shown) {
    out += shown;
    return true;
  });
  return out;
}

void copy_printable(std::string_view text, char *out, size_t size) noexcept {
  if (size == 0) return;
  each_shown(text, [&](std::string_view shown) {
    if (shown.size() >= size) return false;
    std::memcpy(out, shown.data(), shown.size());
    out += shown.size();
    size -= shown.size();
    return true;
  });
  *out = '\0';
}

size_t overwritten(std::string_view line) noexcept {
  const size_t last = line.find_last_not_of('\r');
  const size_t mark = last == line.npos ? line.npos : line.rfind('\r', last);
  return mark == line.npos ? 0 : mark + 1;
}

std::string_view as_shown(std::string_view line) noexcept {
  line.remove_prefix(overwritten(line));
  return line.substr(0, line.find_last_not_of('\r') + 1);
}

}  // namespace det
