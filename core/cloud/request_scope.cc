#include "core/cloud/request_scope.h"

#include <poll.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace det::cloud {

namespace {
thread_local RequestScope *of_this_thread = nullptr;
}

bool RequestScope::is_stopped() const { return !wait(std::chrono::milliseconds{0}); }

bool RequestScope::wait(std::chrono::milliseconds time) const {
  if (stop_ == nullptr) {
    std::this_thread::sleep_for(time);
    return true;
  }
  const auto end = std::chrono::steady_clock::now() + time;
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd set{stop_->fd(), POLLIN, 0};
    if (poll(&set, 1, static_cast<int>(std::max<int64_t>(left.count(), 0))) > 0) return false;
    if (left.count() <= 0) return true;
  }
}

RequestScope *RequestScope::current() noexcept { return of_this_thread; }

InRequestScope::InRequestScope(RequestScope &scope)
    : outer_(std::exchange(of_this_thread, &scope)) {}

InRequestScope::~InRequestScope() { of_this_thread = outer_; }

}  // namespace det::cloud
