#include "core/base/log.h"

#include <cstdio>

#include "core/base/printable.h"

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

void Logger::write_line(LogLevel level, const std::string &text) {
  if (level < threshold_) return;
  const std::string line = printable(text);
  if (outlet_) return outlet_->write(level, line);
  const std::lock_guard guard(mutex_);
  if (sink_) sink_(level, line);
  else std::fprintf(stderr, "%s: detcore: %s\n", log_level_name(level), line.c_str());
}

}  // namespace det
