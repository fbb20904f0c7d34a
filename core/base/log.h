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

// Same numbers as DET_LOG_LEVEL_* in include/det/error.h.
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

  // A line of texts, one after the other. What is done stays done, whether or not it can be told: a
  // line that there is no memory for is left out.
  template <class... Texts>
  void write(LogLevel level, const Texts &...texts) noexcept {
    try {
      std::string line;
      (line.append(texts), ...);
      write_line(level, line);
    } catch (const std::exception &) {
      return;
    }
  }
  template <class... Texts>
  void debug(const Texts &...texts) noexcept {
    write(LogLevel::debug, texts...);
  }
  template <class... Texts>
  void info(const Texts &...texts) noexcept {
    write(LogLevel::info, texts...);
  }
  template <class... Texts>
  void warning(const Texts &...texts) noexcept {
    write(LogLevel::warning, texts...);
  }
  template <class... Texts>
  void error(const Texts &...texts) noexcept {
    write(LogLevel::error, texts...);
  }

  LogOutlet *outlet() const { return outlet_.get(); }  // null: there is none

 private:
  void write_line(LogLevel level, const std::string &text);

  const LogLevel threshold_;
  const Sink sink_;
  const std::shared_ptr<LogOutlet> outlet_;
  std::mutex mutex_;
};

}  // namespace det
