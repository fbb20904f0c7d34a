// The library's own log lines: to the host's callback, or to standard error. They are printable():
// what they quote may come from anywhere.
#pragma once

#include <exception>
#include <functional>
#include <mutex>
#include <string>

namespace det {

// Same numbers as DET_LOG_* in include/det/error.h.
enum class LogLevel : int { debug = 0, info = 1, warning = 2, error = 3 };

const char *log_level_name(LogLevel level);  // "DEBUG", "INFO", "WARNING", "ERROR"

class Logger {
 public:
  using Sink = std::function<void(LogLevel, const std::string &)>;

  // Without a sink, lines go to standard error.
  explicit Logger(LogLevel threshold = LogLevel::warning, Sink sink = nullptr)
      : threshold_(threshold), sink_(std::move(sink)) {}

  void write(LogLevel level, const std::string &message);
  void debug(const std::string &message) { write(LogLevel::debug, message); }
  void info(const std::string &message) { write(LogLevel::info, message); }
  void warning(const std::string &message) { write(LogLevel::warning, message); }
  void error(const std::string &message) { write(LogLevel::error, message); }

  // "TRIED: what `why` says", if there is memory to say it: for where nothing may be thrown.
  void failure(LogLevel level, const char *tried, const std::exception &why) noexcept;

 private:
  const LogLevel threshold_;
  const Sink sink_;
  std::mutex mutex_;
};

}  // namespace det
