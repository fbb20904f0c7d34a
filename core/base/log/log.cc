#include "core/base/log/log.h"

#include <algorithm>
#include <cstdio>

#include "core/base/clock.h"
#include "core/base/text/printable.h"

namespace det {

const char *log_level_name(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "DEBUG";
    case LogLevel::info:
      return "INFO";
    case LogLevel::warning:
      return "WARNING";
    default:
      return "ERROR";
  }
}

namespace {

// The directory under core/, else the last one.
std::string_view room_of(std::string_view file) {
  constexpr std::string_view rooms = "core/";
  const size_t at = file.rfind(rooms);
  if (at != file.npos) {
    file.remove_prefix(at + rooms.size());
    return file.substr(0, file.find('/'));
  }
  file = file.substr(0, std::min(file.rfind('/'), file.size()));
  return file.substr(file.rfind('/') + 1);
}

}  // namespace

void Logger::write_line(LogLevel level, const std::string &text, const char *file) {
  const std::string line = printable(text);
  if (outlet_) return outlet_->write(level, line, {room_of(file), now_us(), rank_});
  const std::lock_guard guard(mutex_);
  if (sink_) sink_(level, line);
  else std::fprintf(stderr, "%s: detcore: %s\n", log_level_name(level), line.c_str());
}

}  // namespace det
