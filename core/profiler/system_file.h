// Files of /proc and /sys that are read again and again, and the words in them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/file.h"

namespace det::profiler {

// Stays open: opening and closing /proc costs more than reading it.
class SystemFile {
 public:
  explicit SystemFile(std::filesystem::path path) : path_(std::move(path)) {}

  // What it says now, valid until the next call. Throws Code::unsupported where this system does
  // not have it, or does not show it.
  std::string_view read();

  // Until it is read again; for files of which there may be too many to be open.
  void close() { file_ = Fd(); }

  const std::filesystem::path &path() const { return path_; }

 private:
  std::filesystem::path path_;
  Fd file_;
  std::vector<char> text_;
};

// Each takes what it gives off the front of `text`; empty at its end.
std::string_view next_line(std::string_view &text);
std::string_view next_word(std::string_view &text);

// None for a word that is no whole number.
std::optional<uint64_t> number_from(std::string_view word);
inline std::optional<uint64_t> next_number(std::string_view &text) {
  return number_from(next_word(text));
}

// The number behind `key`, a word at the start of a line: "MemAvailable:  1024 kB", "usage_usec 7".
std::optional<uint64_t> number_of(std::string_view text, std::string_view key);

// The first word of a small file that is read once, and such a number; none where there is none.
std::optional<std::string> word_in(const std::filesystem::path &path);
std::optional<uint64_t> number_in(const std::filesystem::path &path);

}  // namespace det::profiler
