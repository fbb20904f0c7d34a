// Runs what calls an object store, on threads of its own: as many at a time as the store bears.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/wake.h"
#include "core/cloud/request_scope.h"
#include "core/storage/progress.h"

namespace det::cloud {

class RequestPool {
 public:
  using Task = std::function<void()>;

  // `most` tasks at a time. What is done is told to `progress` on the thread of run(); null: to
  // nobody.
  RequestPool(size_t most, storage::Progress *progress);
  ~RequestPool();  // stops what runs

  // Runs what `next` gives, which is asked by one thread at a time, until it gives an empty task;
  // and what is submitted meanwhile, which comes first. Throws the first failure, or what the
  // callback of the progress throws; either ends all requests. Once.
  void run(std::function<Task()> next);
  void submit(Task task);  // from within a task

  // Bytes to tell of. Who counts may do so when the pool is gone.
  const std::shared_ptr<std::atomic<uint64_t>> &moved() const { return moved_; }
  void count_file() {
    if (progress_ != nullptr) progress_->add_file();
  }

 private:
  void work();
  bool take(std::unique_lock<std::mutex> &lock, Task &task);
  void adapt();
  void fail(std::exception_ptr failure);
  void add_thread();
  void tell();
  void watch(std::unique_lock<std::mutex> &lock);

  const size_t most_;
  storage::Progress *const progress_;
  const std::shared_ptr<std::atomic<uint64_t>> moved_ = std::make_shared<std::atomic<uint64_t>>(0);
  const Wake stop_;
  RequestScope scope_{&stop_};
  std::mutex mutex_;
  std::condition_variable changed_, ended_;
  std::function<Task()> next_;
  std::deque<Task> submitted_;
  bool is_over_ = false;  // nothing comes from next_ any more
  std::exception_ptr failure_;
  size_t running_ = 0;
  size_t limit_;  // of running_
  size_t since_change_ = 0;
  uint64_t throttled_ = 0;
  std::chrono::steady_clock::time_point reduced_{};
  std::vector<std::thread> threads_;
};

}  // namespace det::cloud
