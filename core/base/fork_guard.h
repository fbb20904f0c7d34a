// Tells, without a system call, whether this process is the one that made the guard or a forked
// child of it: the kernel wipes the guard's page in a child.
#pragma once

#include <atomic>

namespace det {

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

}  // namespace det
