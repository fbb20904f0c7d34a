#include "core/http/outcome.h"

#include <poll.h>

#include <cerrno>
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
  pollfd watched[] = {{wake_->fd(), POLLIN, 0}, {wake.fd(), POLLIN, 0}};
  while (poll(watched, 2, -1) < 0)
    if (errno != EINTR && errno != EAGAIN) OsFailure{errno}.raise("waiting for an answer");
  return watched[0].revents != 0;
}

}  // namespace det::http
