#include "core/storage/pool.h"

#include <algorithm>
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

Pool::Pool(size_t workers) : workers_(workers) {}

Pool::~Pool() {
  {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
    closing_ = true;
  }
  changed_.notify_all();
  for (std::thread &thread : threads_) thread.join();
}

void Pool::submit(Task task, Buffer &own) {
  std::unique_lock lock(mutex_);
  if (failure_) return;
  if (waiting_.size() >= most_waiting) {
    run(std::move(task), own, lock);
    return;
  }
  waiting_.push_back(std::move(task));
  if (idle_ > 0) changed_.notify_one();
  else if (waiting_.size() > 1 && threads_.size() + 1 < workers_) add_thread();
}

void Pool::wait(Buffer &own, std::chrono::milliseconds interval,
                const std::function<void()> &tick) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!waiting_.empty()) {
      Task task = std::move(waiting_.front());
      waiting_.pop_front();
      run(std::move(task), own, lock);
    } else if (running_ > 0) {
      ++idle_;
      if (tick) changed_.wait_for(lock, interval);
      else changed_.wait(lock);
      --idle_;
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
    } else {
      break;
    }
  }
  if (failure_) std::rethrow_exception(failure_);
}

void Pool::work() {
  Buffer buffer;
  std::unique_lock lock(mutex_);
  while (!closing_) {
    if (waiting_.empty()) {
      ++idle_;
      changed_.wait(lock);
      --idle_;
      continue;
    }
    Task task = std::move(waiting_.front());
    waiting_.pop_front();
    run(std::move(task), buffer, lock);
  }
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
  if (waiting_.empty() && running_ == 0) changed_.notify_all();
}

// Under the lock.
void Pool::fail(std::exception_ptr failure) {
  if (!failure_) failure_ = std::move(failure);
  waiting_.clear();
}

void Pool::add_thread() {
  try {
    threads_.reserve(threads_.size() + 1);  // a thread that runs must find its place
    threads_.push_back(start_thread("det-transfer", [this] { work(); }));
  } catch (const std::exception &) {
    // No thread to be had: wait() does the work itself.
  }
}

}  // namespace det::storage
