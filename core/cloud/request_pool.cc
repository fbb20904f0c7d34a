#include "core/cloud/request_pool.h"

#include <algorithm>
#include <utility>

namespace det::cloud {

namespace {
// Requests that were sent together are refused together: that halves their number once.
constexpr std::chrono::seconds between_reductions{1};
}  // namespace

RequestPool::RequestPool(ObjectStore &store, size_t most, storage::Progress *progress)
    : most_(std::max<size_t>(most, 1)),
      progress_(progress),
      store_(store.within(scope_)),
      limit_(most_),
      pool_(most_, [this] { stop_.set(); }) {}

void RequestPool::run(std::function<Task()> next) {
  next_ = std::move(next);
  submit([this] { pull(); });
  storage::Buffer none;
  if (progress_ == nullptr) return pool_.wait(none);
  pool_.wait(none, storage::Progress::interval, [this] { tell(); });
  tell();
}

void RequestPool::submit(Task task) {
  storage::Buffer none;
  pool_.submit(
      [this, task = std::move(task)](storage::Buffer &) {
        task();
        adapt();
      },
      none);
}

// Behind what is submitted by then comes the next one.
void RequestPool::pull() {
  const Task task = next_();
  if (!task) return;
  submit([this] { pull(); });
  task();
}

void RequestPool::tell() {
  progress_->count_bytes(moved_->exchange(0));
  progress_->tell();
}

// Half as many when the store has too much to do, then one more for each round that went well.
void RequestPool::adapt() {
  const std::lock_guard lock(mutex_);
  const uint64_t throttled = scope_.throttled();
  const auto now = std::chrono::steady_clock::now();
  if (std::exchange(throttled_, throttled) != throttled) {
    since_change_ = 0;
    if (now - reduced_ < between_reductions) return;
    reduced_ = now;
    limit_ = std::max<size_t>(limit_ / 2, 1);
  } else if (limit_ < most_ && ++since_change_ >= limit_) {
    since_change_ = 0;
    ++limit_;
  } else {
    return;
  }
  pool_.limit(limit_);
}

}  // namespace det::cloud
