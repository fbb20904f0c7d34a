// Runs what calls an object store, on threads of its own: as many at a time as the store bears.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "core/base/wake.h"
#include "core/cloud/object_store.h"
#include "core/cloud/request_scope.h"
#include "core/storage/pool.h"
#include "core/storage/progress.h"

namespace det::cloud {

class RequestPool {
 public:
  using Task = std::function<void()>;

  // `most` tasks at a time, which ask store(). What is done is told to `progress` on the thread of
  // run(); null: to nobody. What runs is stopped where this goes.
  RequestPool(ObjectStore &store, size_t most, storage::Progress *progress);

  // Runs what `next` gives until it gives an empty task. It is asked by one thread at a time, and
  // again once what was submitted before has begun. Throws the first failure, or what the callback
  // of the progress throws; either ends all requests. Once.
  void run(std::function<Task()> next);
  void submit(Task task);  // from within a task

  // What ends its calls with the pool.
  ObjectStore &store() const { return *store_; }

  // Bytes to tell of. Who counts may do so when the pool is gone.
  const std::shared_ptr<std::atomic<uint64_t>> &moved() const { return moved_; }
  void count_file() {
    if (progress_ != nullptr) progress_->add_file();
  }

 private:
  void pull();
  void adapt();
  void tell();

  const size_t most_;
  storage::Progress *const progress_;
  const std::shared_ptr<std::atomic<uint64_t>> moved_ = std::make_shared<std::atomic<uint64_t>>(0);
  const Wake stop_;
  RequestScope scope_{&stop_};
  const std::shared_ptr<ObjectStore> store_;
  std::function<Task()> next_;
  std::mutex mutex_;  // of what follows
  size_t limit_;      // of tasks that run
  size_t since_change_ = 0;
  uint64_t throttled_ = 0;
  std::chrono::steady_clock::time_point reduced_{};
  storage::Pool pool_;  // last: its threads use what stands above
};

}  // namespace det::cloud
