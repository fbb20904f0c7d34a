// What ends the waiting for other ranks, in all channels of a job: its first failure, which is
// final, and the host.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace det::comm {

// What other ranks may be waiting in.
class FailureListener {
 public:
  virtual ~FailureListener() = default;
  // Tells them, without waiting for anybody.
  virtual void tell(const Error &error) noexcept = 0;
};

class JobFailure {
 public:
  // Before there is a failure; all listeners live as long as this.
  void add(FailureListener &listener) { listeners_.push_back(&listener); }

  // `by` has told already.
  void note(const Error &error, const FailureListener *by = nullptr) noexcept {
    {
      const std::lock_guard guard(mutex_);
      if (first_) return;
      first_ = error.with_retry(false);  // all that comes fails with it
      failed_.store(true, std::memory_order_release);
    }
    for (FailureListener *listener : listeners_)
      if (listener != by) listener->tell(error);
  }
  void check() const {
    if (!failed_.load(std::memory_order_acquire)) return;
    const std::lock_guard guard(mutex_);
    throw Error(*first_);
  }

  // Whoever waits for others asks the host now and then whether to go on.
  void set_question(std::function<bool()> goes_on) {
    const std::lock_guard guard(asking_);
    goes_on_ = std::move(goes_on);
  }
  // Once it is to stop it stays so: the wait that was to end may have had its result after all.
  bool is_to_stop() {
    const std::unique_lock lock(asking_, std::try_to_lock);  // one thread asks for all
    if (lock && goes_on_ && !goes_on_()) stopping_.store(true, std::memory_order_relaxed);
    return is_stopping();
  }
  bool is_stopping() const { return stopping_.load(std::memory_order_relaxed); }

 private:
  std::mutex asking_;
  std::function<bool()> goes_on_;
  std::atomic<bool> stopping_{false};

  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::optional<Error> first_;
  std::vector<FailureListener *> listeners_;
};

}  // namespace det::comm
