#include "core/base/log/log_queue.h"

namespace det {

void LogQueue::write(LogLevel level, std::string_view text, const LogOrigin &origin) noexcept {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  lines_.push(level, text, origin);
  waiting_.set();
}

std::optional<LogLine> LogQueue::take() {
  const std::lock_guard lock(mutex_);
  std::optional<LogLine> line = lines_.take();
  if (lines_.size() == 0) waiting_.clear();
  return line;
}

void LogQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  lines_.clear();
}

}  // namespace det
