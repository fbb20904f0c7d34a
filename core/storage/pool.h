// A few threads that live as long as one transfer.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace det::storage {

// Room to copy through; each thread has its own. It fits the processor's cache, and larger writes
// make the kernel look for larger pages than it has at hand.
class Buffer {
 public:
  static constexpr size_t size = size_t{256} << 10;
  char *data();

 private:
  std::unique_ptr<char[]> bytes_;
};

// Runs tasks on up to `workers` threads, which start only once tasks pile up. After a task threw,
// those not yet started are dropped.
class Pool {
 public:
  using Task = std::function<void(Buffer &)>;

  // The caller's thread is one of them, in wait().
  explicit Pool(size_t workers = default_workers());
  // None of them is the caller's: tasks wait for something else, and `stop` ends that after a
  // failure, and where the pool is not waited for. It is called under a lock.
  Pool(size_t workers, std::function<void()> stop);
  ~Pool();  // drops what has not started, waits for what has

  // From any thread, also from within a task. When enough are waiting, and the caller's thread is
  // one of the pool's, runs the task right here, with the caller's buffer.
  void submit(Task task, Buffer &own);

  // Works, or watches, until nothing is left; throws what the first failing task threw. While it
  // waits for other threads, `tick` is called at such intervals; what it throws is a failure like
  // that of a task.
  void wait(Buffer &own, std::chrono::milliseconds interval = {},
            const std::function<void()> &tick = nullptr);

  // So many tasks may run at a time from now on; at least 1.
  void limit(size_t running);

  static size_t default_workers();  // processors, at most 8

 private:
  bool can_start() const { return !waiting_.empty() && running_ < limit_; }
  void work();
  void start(Buffer &buffer, std::unique_lock<std::mutex> &lock);
  void run(Task task, Buffer &buffer, std::unique_lock<std::mutex> &lock);
  void fail(std::exception_ptr failure);
  void grow();

  const size_t workers_;
  const size_t callers_;              // threads among them that are not ours: 1, or 0
  const std::function<void()> stop_;  // null: tasks end by themselves
  std::mutex mutex_;
  std::condition_variable changed_;  // for who works
  std::condition_variable ended_;    // for who watches
  std::deque<Task> waiting_;
  size_t running_ = 0;
  size_t limit_;  // of running_
  size_t idle_ = 0;
  bool closing_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace det::storage
