// The library's own log lines: to the host, or to standard error. They are printable(): what they
// quote may come from anywhere.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace det {

// Same numbers as DET_LOG_* in include/det/error.h.
enum class LogLevel : int { debug = 0, info = 1, warning = 2, error = 3 };

const char *log_level_name(LogLevel level);  // "DEBUG", "INFO", "WARNING", "ERROR"

// Where lines go that a host takes in its own time; writing to it does not wait for the host.
class LogOutlet {
 public:
  virtual ~LogOutlet() = default;
  virtual void write(LogLevel level, const std::string &message) noexcept = 0;

  // Waits until the host has what was written, for at most `patience`.
  virtual void flush(std::chrono::milliseconds /*patience*/) noexcept {}
  // The host is not called any more; waits for a call under way, for at most `patience`.
  virtual void end(std::chrono::milliseconds /*patience*/) noexcept {}
};

class Logger {
 public:
  using Sink = std::function<void(LogLevel, const std::string &)>;

  // Without a sink, lines go to standard error. All who log wait for it.
  explicit Logger(LogLevel threshold = LogLevel::warning, Sink sink = nullptr)
      : threshold_(threshold), sink_(std::move(sink)) {}
  Logger(LogLevel threshold, std::shared_ptr<LogOutlet> outlet)
      : threshold_(threshold), outlet_(std::move(outlet)) {}

  void write(LogLevel level, const std::string &message);
  void debug(const std::string &message) { write(LogLevel::debug, message); }
  void info(const std::string &message) { write(LogLevel::info, message); }
  void warning(const std::string &message) { write(LogLevel::warning, message); }
  void error(const std::string &message) { write(LogLevel::error, message); }

  // "DOING: what failed", where nothing may be thrown, such as at the end of a thread. Nothing when
  // there is no memory for that.
  void tell(LogLevel level, const char *doing, const std::exception &failure) noexcept;

  LogOutlet *outlet() const { return outlet_.get(); }  // null: there is none

 private:
  const LogLevel threshold_;
  const Sink sink_;
  const std::shared_ptr<LogOutlet> outlet_;
  std::mutex mutex_;
};

}  // namespace det
