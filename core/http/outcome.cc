#include "core/http/outcome.h"

#include <new>

namespace det::http {

void Outcome::end(Ending ending) noexcept {
  {
    const std::lock_guard lock(mutex_);
    ending_ = std::move(ending);
    if (wake_) wake_->set();
  }
  ended_.notify_all();
}

HttpAnswer Outcome::take() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return has_ended(); });
  if (std::holds_alternative<NoMemory>(ending_)) throw std::bad_alloc();
  if (Error *reason = std::get_if<Error>(&ending_)) throw Error(std::move(*reason));
  return std::get<HttpAnswer>(std::move(ending_));
}

bool Outcome::wait_for(std::chrono::milliseconds patience) const {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, patience, [this] { return has_ended(); });
}

bool Outcome::wait_unless(const Wake &wake) {
  {
    const std::lock_guard lock(mutex_);
    if (has_ended()) return true;
    if (!wake_) wake_.emplace();
  }
  for (;;) {
    const bool is_told = wake.poll({}, std::chrono::seconds(1), &*wake_);
    if (const std::lock_guard lock(mutex_); has_ended()) return true;
    if (is_told) return false;
  }
}

}  // namespace det::http
