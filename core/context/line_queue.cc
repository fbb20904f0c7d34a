#include "core/context/line_queue.h"

#include <exception>

namespace det {

namespace {

// For a short line, its place in the queue weighs more than its text.
size_t weight(std::string_view line) { return line.size() + 64; }

}  // namespace

void LineQueue::push(LogLevel level, std::string_view line) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    if (bytes_ + weight(line) > limit) throw std::bad_alloc();
    lines_.push_back({level, std::string(line), left_out_});
    bytes_ += weight(line);
    left_out_ = 0;
  } catch (const std::exception &) {
    ++left_out_;
  }
  changed_.notify_one();
}

void LineQueue::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_one();
}

void LineQueue::drain(const std::function<void(LogLevel, std::string_view)> &sink) {
  const auto guarded = [](const auto &hand_over) {
    try {
      hand_over();
    } catch (...) {
      // There is nobody to tell: what is logged goes through here.
    }
  };
  const auto tell_left_out = [&](size_t count) {
    if (count == 0) return;
    guarded([&] {
      sink(LogLevel::warning, "WARNING: detcore: " + std::to_string(count) +
                                  " lines of output were not copied: they came too fast");
    });
  };
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !lines_.empty() || ended_; });
    if (lines_.empty()) break;
    const Line line = std::move(lines_.front());
    lines_.pop_front();
    bytes_ -= weight(line.text);
    lock.unlock();
    tell_left_out(line.left_out_before);
    guarded([&] { sink(line.level, line.text); });
    lock.lock();
  }
  const size_t left_out = left_out_;
  lock.unlock();
  tell_left_out(left_out);
}

}  // namespace det
