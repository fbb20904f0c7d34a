// The library's own log lines: to the host, or to standard error. They are printable(): what they
// quote may come from anywhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace det {

// As DET_LOG_LEVEL_* in include/det/error.h, which begin with 1.
enum class LogLevel : int { debug = 0, info = 1, warning = 2, error = 3 };

const char *log_level_name(LogLevel level);  // "DEBUG", "INFO", "WARNING", "ERROR"

struct LogOrigin {
  std::string_view room;  // "http", "journal"; outlives the line
  int64_t time_us = 0;    // as now_us()
  int rank = 0;
};

struct LogLine {
  LogLevel level;
  std::string text;
  LogOrigin origin = {};
};

using LogCallback = std::function<void(const LogLine &)>;

// The first text of a line, with the file it was written in.
struct LogText {
  template <class Text>
  LogText(const Text &said, const char *in_file = __builtin_FILE())  // NOLINT(*-explicit-*)
      : text(said), file(in_file) {}

  std::string_view text;
  const char *file;
};

// Where lines go that a host takes in its own time; writing to it does not wait for the host.
class LogOutlet {
 public:
  virtual ~LogOutlet() = default;
  virtual void write(LogLevel level, std::string_view text, const LogOrigin &origin) noexcept = 0;

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
  Logger(LogLevel threshold, std::shared_ptr<LogOutlet> outlet, int rank = 0)
      : threshold_(threshold), outlet_(std::move(outlet)), rank_(rank) {}

  // A line of texts, one after the other. What is done stays done, whether or not it can be told: a
  // line that there is no memory for is left out.
  template <class... Texts>
  void write(LogLevel level, const LogText &first, const Texts &...rest) noexcept {
    if (level < threshold_) return;
    try {
      std::string line(first.text);
      (line.append(rest), ...);
      write_line(level, line, first.file);
    } catch (const std::exception &) {
      return;
    }
  }
  template <class... Texts>
  void debug(const LogText &first, const Texts &...rest) noexcept {
    write(LogLevel::debug, first, rest...);
  }
  template <class... Texts>
  void info(const LogText &first, const Texts &...rest) noexcept {
    write(LogLevel::info, first, rest...);
  }
  template <class... Texts>
  void warning(const LogText &first, const Texts &...rest) noexcept {
    write(LogLevel::warning, first, rest...);
  }
  template <class... Texts>
  void error(const LogText &first, const Texts &...rest) noexcept {
    write(LogLevel::error, first, rest...);
  }

  LogOutlet *outlet() const { return outlet_.get(); }  // null: there is none

 private:
  void write_line(LogLevel level, const std::string &text, const char *file);

  const LogLevel threshold_;
  const Sink sink_;
  const std::shared_ptr<LogOutlet> outlet_;
  const int rank_ = 0;
  std::mutex mutex_;
};

}  // namespace det
