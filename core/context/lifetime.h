// Lets calls through while the core is open in the process that opened it.
#pragma once

#include <atomic>

#include "core/base/error.h"
#include "core/base/process/fork_guard.h"

namespace det::context {

class Lifetime {
 public:
  bool open() const noexcept {
    return open_.load(std::memory_order_seq_cst) && !fork_guard_.in_child();
  }
  bool in_child() const noexcept { return fork_guard_.in_child(); }

  void check() const {
    if (!open()) [[unlikely]]
      refuse();
  }

  // True for the one caller that closes it.
  bool close() noexcept { return open_.exchange(false, std::memory_order_seq_cst); }

 private:
  [[noreturn]] void refuse() const {
    if (fork_guard_.in_child())
      throw Error(Code::state,
                  "calling detcore in a forked child: the core belongs to the parent; open one of "
                  "its own with det_core_init(), or report from the parent");
    throw Error(Code::state, "calling detcore after det_core_close(): open a new core");
  }

  std::atomic<bool> open_{true};
  ForkGuard fork_guard_;
};

}  // namespace det::context
