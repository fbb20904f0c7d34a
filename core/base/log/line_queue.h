// Lines between who must not wait and who may be slow.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/log/log.h"

namespace det {

class LineQueue {
 public:
  static constexpr size_t limit = size_t{8} << 20U;  // bytes that wait

  // "NUMBER lines `left_out`" is the warning in the place of lines that found no room.
  LineQueue(std::string prefix, std::string left_out)
      : prefix_(std::move(prefix)), words_(std::move(left_out)) {}

  // Never waits for the other side: when there is no room, the line is left out and counted.
  void push(LogLevel level, std::string_view line, const LogOrigin &origin = {}) noexcept;

  std::optional<LogLine> take();  // the oldest; none: nothing waits
  size_t size() const;
  void clear();

  void end();  // no more lines

  // Hands lines to `sink` until the end.
  void drain(const std::function<void(LogLevel, std::string_view)> &sink);

 private:
  struct Waiting {
    LogLine line;
    size_t left_out_before;
  };

  std::optional<LogLine> take_under_lock();

  const std::string prefix_, words_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> lines_;
  size_t bytes_ = 0;
  size_t left_out_ = 0;  // since the last line
  bool ended_ = false;
};

}  // namespace det
