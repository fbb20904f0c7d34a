// Delivers the library's own log lines, to a callable or through a queue.
#pragma once

#include <det/log.h>
#include <det/detail/handle.hpp>
#include <det/error.hpp>

#include <functional>
#include <optional>
#include <string>

namespace det {
inline namespace v1 {

enum class LogLevel : det_log_level {
  usual = DET_LOG_LEVEL_DEFAULT,  // in options: warning
  debug = DET_LOG_LEVEL_DEBUG,
  info = DET_LOG_LEVEL_INFO,
  warning = DET_LOG_LEVEL_WARNING,
  error = DET_LOG_LEVEL_ERROR,
};

struct LogLine {
  explicit LogLine(const det_log_line &line)
      : message(line.message),
        source(line.source),
        time(std::chrono::microseconds(line.time_us)),
        level(static_cast<LogLevel>(line.level)),
        rank(line.rank) {}

  std::string message;  // one line without its end, safe to print
  std::string source;   // the part of the library, such as "http"
  Time time;
  LogLevel level;
  int rank;
};

// Called on any thread, but never on two at once for one core. It must not call the library. See
// det_log_callback.
using LogCallback = std::function<void(const LogLine &)>;

// Keeps log lines for a host that cannot be called on any thread, such as an event loop.
class LogQueue {
 public:
  LogQueue() noexcept = default;
  explicit LogQueue(det_log_queue *owned) noexcept : queue_(owned) {}

  [[nodiscard]] static LogQueue create(OnFailure on = {}) {
    det_log_queue *queue = nullptr;
    detail::call(on, det_log_queue_create, &queue);
    return LogQueue(queue);
  }

  // Takes the oldest line, if one waits.
  std::optional<LogLine> take(OnFailure on = {}) const {
    det_log_line *line = nullptr;
    detail::call(on, det_log_queue_take, queue_.get(), &line);
    const detail::Handle<det_log_line, det_free> owned(line);
    return line != nullptr ? std::optional<LogLine>(*line) : std::nullopt;
  }

  // A descriptor for poll(2), readable while lines wait.
  [[nodiscard]] int fd() const noexcept { return det_log_queue_fd(queue_.get()); }

  [[nodiscard]] det_log_queue *capi() const noexcept { return queue_.get(); }
  [[nodiscard]] explicit operator bool() const noexcept { return queue_ != nullptr; }

 private:
  detail::Handle<det_log_queue, det_log_queue_free> queue_;
};

}  // namespace v1
}  // namespace det
