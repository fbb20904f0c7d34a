#include "core/base/log_queue.h"

namespace det {

void LogQueue::write(LogLevel level, const std::string &message) noexcept {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  lines_.push(level, message);
  waiting_.set();
}

std::optional<LineQueue::Line> LogQueue::take() {
  const std::lock_guard lock(mutex_);
  std::optional<LineQueue::Line> line = lines_.take();
  if (lines_.size() == 0) waiting_.clear();
  return line;
}

void LogQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  lines_.clear();
}

}  // namespace det
