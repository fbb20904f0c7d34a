#include "core/context/process/log_line.h"

#include <array>

namespace det::context {

namespace {

struct Word {
  std::string_view text;
  LogLevel level;
};

constexpr std::array words = {
    Word{"TRACE", LogLevel::debug}, Word{"DEBUG", LogLevel::debug},
    Word{"INFO", LogLevel::info},   Word{"WARNING", LogLevel::warning},
    Word{"ERROR", LogLevel::error}, Word{"CRITICAL", LogLevel::error},
};

void skip_rank(std::string_view &line) {
  constexpr std::string_view opening = "[rank=", closing = "] ";
  if (!line.starts_with(opening)) return;
  const size_t end = line.find_first_not_of("0123456789", opening.size());
  if (end == opening.size() || end == line.npos || !line.substr(end).starts_with(closing)) return;
  line.remove_prefix(end + closing.size());
}

}  // namespace

LogLevel level_of(std::string_view line) {
  skip_rank(line);
  for (const auto &[text, level] : words)
    if (line.starts_with(text) && line.substr(text.size()).starts_with(':')) return level;
  return LogLevel::info;
}

size_t LineCutter::whole_characters() const {
  size_t end = begun_.size();
  // The first byte of the last character, if that is one of several bytes.
  size_t at = end;
  while (at > 0 && end - at < 4 && (static_cast<unsigned char>(begun_[at - 1]) & 0xC0U) == 0x80)
    --at;
  if (at == 0 || end - at == 4) return end;
  const auto first = static_cast<unsigned char>(begun_[at - 1]);
  const size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
  return end - (at - 1) < size ? at - 1 : end;
}

}  // namespace det::context
