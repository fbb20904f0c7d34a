#include "core/base/log/line_queue.h"

#include <exception>
#include <utility>

namespace det {

namespace {

// For a short line, its place in the queue weighs more than its text.
size_t weight(std::string_view line) { return line.size() + 64; }

}  // namespace

void LineQueue::push(LogLevel level, std::string_view line, const LogOrigin &origin) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    if (bytes_ + weight(line) > limit) throw std::bad_alloc();
    lines_.push_back({{level, std::string(line), origin}, left_out_});
    bytes_ += weight(line);
    left_out_ = 0;
  } catch (const std::exception &) {
    ++left_out_;
  }
  changed_.notify_one();
}

std::optional<LogLine> LineQueue::take() {
  const std::lock_guard lock(mutex_);
  return take_under_lock();
}

std::optional<LogLine> LineQueue::take_under_lock() {
  size_t &left_out = lines_.empty() ? left_out_ : lines_.front().left_out_before;
  if (left_out > 0) {
    LogLine line{LogLevel::warning, prefix_ + std::to_string(left_out) + " lines " + words_};
    if (!lines_.empty()) line.origin = lines_.front().line.origin;
    left_out = 0;
    return line;
  }
  if (lines_.empty()) return std::nullopt;
  LogLine line = std::move(lines_.front().line);
  lines_.pop_front();
  bytes_ -= weight(line.text);
  return line;
}

size_t LineQueue::size() const {
  const std::lock_guard lock(mutex_);
  return lines_.size() + (left_out_ > 0 ? 1 : 0);
}

void LineQueue::clear() {
  const std::lock_guard lock(mutex_);
  lines_.clear();
  bytes_ = left_out_ = 0;
}

void LineQueue::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_one();
}

void LineQueue::drain(const std::function<void(LogLevel, std::string_view)> &sink) {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !lines_.empty() || ended_; });
    try {
      const std::optional<LogLine> line = take_under_lock();
      if (!line) break;
      lock.unlock();
      sink(line->level, line->text);
    } catch (...) {
      // There is nobody to tell: what is logged goes through here.
    }
    if (!lock.owns_lock()) lock.lock();
  }
}

}  // namespace det
