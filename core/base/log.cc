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

void Logger::write(LogLevel level, const std::string &message) {
  if (level < threshold_) return;
  const std::string line = printable(message);
  const std::lock_guard guard(mutex_);
  if (sink_) sink_(level, line);
  else std::fprintf(stderr, "%s: detcore: %s\n", log_level_name(level), line.c_str());
}

void Logger::failure(LogLevel level, const char *tried, const std::exception &why) noexcept {
  try {
    write(level, std::string(tried) + ": " + why.what());
  } catch (...) {
    // There is nobody else to tell.
  }
}

}  // namespace det
