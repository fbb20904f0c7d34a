#pragma once

#include <algorithm>
#include <chrono>

namespace det::engine {

// Of a wait that has a limit.
class TimeLeft {
 public:
  explicit TimeLeft(std::chrono::milliseconds limit)
      : end_(Clock::now() + std::min<std::chrono::milliseconds>(limit, std::chrono::years(1))) {}

  bool is_over() const { return Clock::now() >= end_; }
  std::chrono::milliseconds now() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now());
    return std::max(left, std::chrono::milliseconds(0));
  }

 private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end_;
};

}  // namespace det::engine
