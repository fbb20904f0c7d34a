// What is valid for a while, such as credentials: kept, and asked for anew before its end.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "core/base/error.h"

namespace det::cloud {

// Safe from any thread; one at a time asks, while the others go on with what is still valid.
template <class Value, class... Context>
class Refreshable {
 public:
  using Clock = std::chrono::system_clock;

  struct Lease {
    Value value;
    Clock::time_point ends = Clock::time_point::max();
  };

  // `ask` may block and throw. `now` is for tests.
  explicit Refreshable(std::function<Lease(Context...)> ask,
                       std::chrono::seconds margin = std::chrono::minutes{5},
                       std::function<Clock::time_point()> now = Clock::now)
      : ask_(std::move(ask)), margin_(margin), now_(std::move(now)) {}

  // Blocks where nothing is valid; throws what `ask` threw then, to all who waited for it. `ask` is
  // given the context of whoever asks.
  Value get(Context... context) {
    std::unique_lock lock(mutex_);
    for (;;) {
      const Clock::time_point now = now_();
      const bool valid = lease_ && now < lease_->ends;
      if (valid && (asking_ || now < renew_at_)) return lease_->value;
      if (!asking_) return ask(lock, valid, context...);
      answered_.wait(lock, [this, round = round_] { return round != round_; });
      if (failure_) throw Error(*failure_);
    }
  }

  // It is taken no more: asked for anew at the next get(). What came only now stays: many find out
  // about the old one at the same time.
  void drop() {
    const std::lock_guard lock(mutex_);
    if (lease_ && now_() >= taken_at_ + pause) lease_.reset();
  }

 private:
  static constexpr std::chrono::seconds pause{10};

  Value ask(std::unique_lock<std::mutex> &lock, bool valid, Context... context) {
    asking_ = true;
    lock.unlock();
    std::optional<Lease> fresh;
    std::optional<Error> failure;
    try {
      fresh = ask_(context...);
    } catch (const std::exception &e) {
      failure.emplace(as_error(e));
    }
    lock.lock();
    asking_ = false;
    ++round_;
    failure_ = failure;
    answered_.notify_all();
    taken_at_ = now_();
    if (fresh) {
      lease_ = std::move(fresh);
      // In the second half of its life, however short that is.
      renew_at_ = std::max(lease_->ends - margin_, taken_at_ + (lease_->ends - taken_at_) / 2);
    } else if (valid && lease_) {
      failure_.reset();
      renew_at_ = taken_at_ + pause;
    } else {
      throw Error(*failure);
    }
    return lease_->value;
  }

  const std::function<Lease(Context...)> ask_;
  const std::chrono::seconds margin_;
  const std::function<Clock::time_point()> now_;
  std::mutex mutex_;
  std::condition_variable answered_;
  bool asking_ = false;
  uint64_t round_ = 0;  // how often it has been asked for
  std::optional<Lease> lease_;
  std::optional<Error> failure_;  // of the last round
  Clock::time_point taken_at_{}, renew_at_{};
};

}  // namespace det::cloud
