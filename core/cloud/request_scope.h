// What the calls of a thread to an object store have in common: what ends them early, and how they
// went.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "core/base/wake.h"

namespace det::cloud {

class RequestScope {
 public:
  // Once `stop` is set, calls end with Code::state, also while they wait for an answer or for
  // another attempt. Null: nothing ends them.
  explicit RequestScope(const Wake *stop) : stop_(stop) {}

  const Wake *stop() const { return stop_; }
  bool is_stopped() const;
  bool wait(std::chrono::milliseconds time) const;  // false: it was stopped

  // How often the store said that it has too much to do.
  void count_throttled() { ++throttled_; }
  uint64_t throttled() const { return throttled_; }

  // At most so many attempts at each call, throttled or not; 0: as many as the store's own.
  int attempts = 0;

  // That of the calling thread; null: it has none.
  static RequestScope *current() noexcept;

 private:
  const Wake *const stop_;
  std::atomic<uint64_t> throttled_{0};
};

// Makes the calls of this thread part of a scope, which threads may share, as long as it is there.
class InRequestScope {
 public:
  explicit InRequestScope(RequestScope &scope);
  ~InRequestScope();
  InRequestScope(const InRequestScope &) = delete;
  InRequestScope &operator=(const InRequestScope &) = delete;

 private:
  RequestScope *const outer_;
};

}  // namespace det::cloud
