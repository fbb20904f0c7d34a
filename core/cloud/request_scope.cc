#include "core/cloud/request_scope.h"

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
  return !stop_->poll(time);
}

RequestScope *RequestScope::current() noexcept { return of_this_thread; }

InRequestScope::InRequestScope(RequestScope &scope)
    : outer_(std::exchange(of_this_thread, &scope)) {}

InRequestScope::~InRequestScope() { of_this_thread = outer_; }

}  // namespace det::cloud
