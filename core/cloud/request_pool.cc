#include "core/cloud/request_pool.h"

#include <algorithm>
#include <utility>

#include "core/base/thread.h"

namespace det::cloud {

namespace {
// Requests that were sent together are refused together: that halves their number once.
constexpr std::chrono::seconds between_reductions{1};
}  // namespace

RequestPool::RequestPool(size_t most, storage::Progress *progress)
    : most_(std::max<size_t>(most, 1)), progress_(progress), limit_(most_) {}

RequestPool::~RequestPool() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    submitted_.clear();
    stop_.set();
  }
  changed_.notify_all();
  for (std::thread &thread : threads_) thread.join();
}

void RequestPool::submit(Task task) {
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  submitted_.push_back(std::move(task));
  changed_.notify_one();
}

void RequestPool::run(std::function<Task()> next) {
  std::unique_lock lock(mutex_);
  next_ = std::move(next);
  add_thread();
  watch(lock);
  if (!failure_ && progress_ != nullptr) {
    lock.unlock();
    tell();
    return;
  }
  if (failure_) std::rethrow_exception(failure_);
}

void RequestPool::watch(std::unique_lock<std::mutex> &lock) {
  const auto is_done = [this] { return is_over_ && submitted_.empty() && running_ == 0; };
  while (!is_done()) {
    if (progress_ == nullptr) {
      ended_.wait(lock, is_done);
      break;
    }
    ended_.wait_for(lock, storage::Progress::interval, is_done);
    if (failure_) continue;
    lock.unlock();
    std::exception_ptr failure;
    try {
      tell();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure) fail(failure);
  }
}

void RequestPool::tell() {
  progress_->add_bytes(moved_->exchange(0));
  progress_->tell();
}

void RequestPool::work() {
  const InRequestScope scope(scope_);
  std::unique_lock lock(mutex_);
  for (Task task; take(lock, task);) {
    ++running_;
    if (running_ == threads_.size() && !(is_over_ && submitted_.empty())) add_thread();
    lock.unlock();
    std::exception_ptr failure;
    try {
      task();
    } catch (...) {
      failure = std::current_exception();
    }
    task = nullptr;  // what it held goes before anybody is told that it is done
    lock.lock();
    --running_;
    if (failure) fail(failure);
    adapt();
    if (running_ == 0) ended_.notify_all();
    else changed_.notify_one();
  }
}

// False: there is nothing left to do, and nothing running that could submit more.
bool RequestPool::take(std::unique_lock<std::mutex> &lock, Task &task) {
  for (;;) {
    if (running_ < limit_) {
      if (!submitted_.empty()) {
        task = std::move(submitted_.front());
        submitted_.pop_front();
        return true;
      }
      if (!is_over_) try {
          task = next_();
          if (task) return true;
          is_over_ = true;
        } catch (...) {
          fail(std::current_exception());
        }
      if (is_over_ && submitted_.empty() && running_ == 0) {
        ended_.notify_all();
        changed_.notify_all();  // the other threads end too
        return false;
      }
    }
    changed_.wait(lock);
  }
}

// Half as many when the store has too much to do, then one more for each round that went well.
void RequestPool::adapt() {
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
  }
}

// Under the lock. The first failure is the reason; what it stops fails as well.
void RequestPool::fail(std::exception_ptr failure) {
  if (!failure_) failure_ = std::move(failure);
  is_over_ = true;
  submitted_.clear();
  stop_.set();
  changed_.notify_all();
}

// Under the lock.
void RequestPool::add_thread() {
  if (threads_.size() >= most_) return;
  try {
    threads_.reserve(threads_.size() + 1);  // a thread that runs must find its place
    threads_.push_back(start_thread("det-transfer", [this] { work(); }));
  } catch (const std::exception &) {
    if (threads_.empty()) throw;  // the others do it
  }
}

}  // namespace det::cloud
