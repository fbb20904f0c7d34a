// Lines in a stream of output, and how serious each says it is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/log/log.h"
#include "core/base/text/printable.h"

namespace det::context {

// From the form of Python's logging, "WARNING: text", with or without "[rank=3] " before it; info
// for any other line.
LogLevel level_of(std::string_view line);

class LineCutter {
 public:
  static constexpr size_t longest = size_t{64} << 10U;  // bytes; what is longer comes in parts

  // Calls `take(line)` for each that `bytes` end, without its line break: what a terminal shows of
  // it in the end.
  template <class Take>
  void add(std::string_view bytes, Take take) {
    while (!bytes.empty()) {
      const size_t end = bytes.find('\n');
      const std::string_view part = bytes.substr(0, std::min(end, longest - begun_.size()));
      begun_.append(part);
      bytes.remove_prefix(part.size());
      if (!bytes.empty() && bytes.front() == '\n') {
        bytes.remove_prefix(1);
        take(as_shown(begun_));
        begun_.clear();
      } else if (const size_t over = overwritten(begun_); over > 0) {
        begun_.erase(0, over);
      } else if (begun_.size() == longest) {
        const size_t whole = whole_characters();
        take(std::string_view(begun_).substr(0, whole));
        begun_.erase(0, whole);
      }
    }
  }

  // A last line without its break.
  template <class Take>
  void finish(Take take) {
    if (const std::string_view line = as_shown(begun_); !line.empty()) take(line);
    begun_.clear();
  }

 private:
  size_t whole_characters() const;  // of what has begun, in bytes

  std::string begun_;
};

}  // namespace det::context
