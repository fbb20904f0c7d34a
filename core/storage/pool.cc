#include "core/storage/pool.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>

#include "core/base/thread.h"

namespace det::storage {

namespace {
constexpr size_t most_waiting = 256;
}

char *Buffer::data() {
  if (!bytes_) bytes_.reset(new char[size]);  // not cleared, as make_unique would
  return bytes_.get();
}

size_t Pool::default_workers() {
  return std::clamp<size_t>(std::thread::hardware_concurrency(), 1, 8);
}

Pool::Pool(size_t workers) : workers_(workers), callers_(1), limit_(SIZE_MAX) {}

Pool::Pool(size_t workers, std::function<void()> stop)
    : workers_(workers), callers_(0), stop_(std::move(stop)), limit_(SIZE_MAX) {}

Pool::~Pool() {
  {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
    closing_ = true;
    if (stop_) stop_();
  }
  changed_.notify_all();
  for (std::thread &thread : threads_) thread.join();
}

void Pool::submit(Task task, Buffer &own) {
  std::unique_lock lock(mutex_);
  if (failure_) return;
  if (callers_ > 0 && waiting_.size() >= most_waiting) {
    run(std::move(task), own, lock);
    return;
  }
  waiting_.push_back(std::move(task));
  if (idle_ > 0) changed_.notify_one();
  else grow();
}

void Pool::wait(Buffer &own, std::chrono::milliseconds interval,
                const std::function<void()> &tick) {
  std::unique_lock lock(mutex_);
  while (running_ > 0 || !waiting_.empty()) {
    if (callers_ > 0 && can_start()) {
      start(own, lock);
      continue;
    }
    std::condition_variable &news = callers_ > 0 ? changed_ : ended_;
    idle_ += callers_;
    if (tick) news.wait_for(lock, interval);
    else news.wait(lock);
    idle_ -= callers_;
    if (!tick || failure_) continue;
    lock.unlock();
    std::exception_ptr failure;
    try {
      tick();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure) fail(failure);
  }
  if (failure_) std::rethrow_exception(failure_);
}

void Pool::limit(size_t running) {
  const std::lock_guard lock(mutex_);
  limit_ = std::max<size_t>(running, 1);
  changed_.notify_all();
}

void Pool::work() {
  Buffer buffer;
  std::unique_lock lock(mutex_);
  while (!closing_) {
    if (can_start()) {
      start(buffer, lock);
      continue;
    }
    ++idle_;
    changed_.wait(lock);
    --idle_;
  }
}

void Pool::start(Buffer &buffer, std::unique_lock<std::mutex> &lock) {
  Task task = std::move(waiting_.front());
  waiting_.pop_front();
  if (idle_ == 0) grow();
  run(std::move(task), buffer, lock);
}

void Pool::run(Task task, Buffer &buffer, std::unique_lock<std::mutex> &lock) {
  ++running_;
  lock.unlock();
  std::exception_ptr failure;
  try {
    task(buffer);
  } catch (...) {
    failure = std::current_exception();
  }
  task = nullptr;  // what it held goes before anybody is told that it is done
  lock.lock();
  --running_;
  if (failure) fail(failure);
  if (!waiting_.empty() || running_ > 0) return;
  changed_.notify_all();
  ended_.notify_all();
}

// Under the lock. The first failure is the reason; what it stops fails as well.
void Pool::fail(std::exception_ptr failure) {
  if (!failure_) failure_ = std::move(failure);
  waiting_.clear();
  if (stop_) stop_();
}

// Where more is waiting than the caller's thread does next.
void Pool::grow() {
  if (waiting_.size() <= callers_ || threads_.size() + callers_ >= workers_) return;
  try {
    threads_.reserve(threads_.size() + 1);  // a thread that runs must find its place
    threads_.push_back(start_thread("det-transfer", [this] { work(); }));
  } catch (const std::exception &) {
    // No thread to be had: the others do it, or wait() does.
    if (threads_.empty() && callers_ == 0) throw;
  }
}

}  // namespace det::storage
