// What the calls of one transfer to an object store have in common: what ends them early, how often
// each is tried, and how they went.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "core/base/wake.h"

namespace det::cloud {

// Threads may share one.
class RequestScope {
 public:
  // Once `stop` is set, calls end with Code::state, also while they wait for an answer or for
  // another attempt. Null: nothing ends them. At most so many attempts at each call, throttled or
  // not; 0: as many as the store's own.
  explicit RequestScope(const Wake *stop, int attempts = 0) : attempts(attempts), stop_(stop) {}

  const int attempts;

  const Wake *stop() const { return stop_; }
  bool is_stopped() const { return stop_ != nullptr && stop_->poll(std::chrono::milliseconds{0}); }
  // False: it was stopped.
  bool wait(std::chrono::milliseconds time) const {
    if (stop_ != nullptr) return !stop_->poll(time);
    std::this_thread::sleep_for(time);
    return true;
  }

  // How often the store said that it has too much to do.
  void count_throttled() { ++throttled_; }
  uint64_t throttled() const { return throttled_; }

 private:
  const Wake *const stop_;
  std::atomic<uint64_t> throttled_{0};
};

}  // namespace det::cloud
