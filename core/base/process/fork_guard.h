// What a forked child must not take for its own.
#pragma once

#include <atomic>
#include <mutex>

namespace det {

// Tells, without a system call, whether this process is the one that made the guard or a forked
// child of it: the kernel wipes the guard's page in a child.
class ForkGuard {
 public:
  ForkGuard();
  ~ForkGuard();
  ForkGuard(const ForkGuard &) = delete;
  ForkGuard &operator=(const ForkGuard &) = delete;

  bool in_child() const noexcept { return page_->load(std::memory_order_relaxed) == 0; }

 private:
  std::atomic<int> *page_;
};

// A mutex that a forked child finds free, whatever other threads of its parent were doing, and what
// it protects whole. Only for objects of static storage duration; a thread holds at most one.
class ForkMutex {
 public:
  ForkMutex() noexcept;
  ForkMutex(const ForkMutex &) = delete;
  ForkMutex &operator=(const ForkMutex &) = delete;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  static void lock_all();
  static void unlock_all();

  static inline std::atomic<ForkMutex *> last_{nullptr};

  std::mutex mutex_;
  ForkMutex *before_;
};

}  // namespace det
