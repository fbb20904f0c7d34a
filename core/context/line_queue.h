// Lines between who must not wait and who may be slow.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "core/base/log.h"

namespace det {

class LineQueue {
 public:
  static constexpr size_t limit = size_t{8} << 20U;  // bytes that wait

  // Never waits for the other side: when there is no room, the line is left out and counted.
  void push(LogLevel level, std::string_view line) noexcept;

  void end();  // no more lines

  // Hands lines to `sink` until the end. A line says where some were left out.
  void drain(const std::function<void(LogLevel, std::string_view)> &sink);

 private:
  struct Line {
    LogLevel level;
    std::string text;
    size_t left_out_before;
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Line> lines_;
  size_t bytes_ = 0;
  size_t left_out_ = 0;  // since the last line
  bool ended_ = false;
};

}  // namespace det
