// Signals that end the process, for those who have something to do before.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "core/base/wake.h"
#include "core/context/signal_table.h"

namespace det::context {

// While it lives, a signal that ends the process, since nobody handles it, sets `begun` first; a
// forked child ends at once. A crash then waits where it is, until one of `done` is set or
// `patience` is over. Where the signal came from elsewhere the program goes on meanwhile, and the
// process ends when every hook has said work_is_done(), or at a second signal.
class FatalSignalHook {
 public:
  static constexpr uint32_t begun = 1;  // of `begin`

  // Throws Code::full when all hooks are taken.
  FatalSignalHook(Flags &begin, const Flags &done, std::chrono::milliseconds patience);
  // Where a signal is ending the process, both must live on: see signal().
  ~FatalSignalHook();
  FatalSignalHook(const FatalSignalHook &) = delete;
  FatalSignalHook &operator=(const FatalSignalHook &) = delete;

  static int signal() noexcept;  // which one is ending the process; 0: none

  // Whether the process ends by work_is_done(), which each hook owes once.
  static bool is_left_to_us() noexcept;
  static void work_is_done() noexcept;

  // Does not wait for `done` where the signal comes in the thread that calls this.
  void work_in_this_thread() const noexcept;

 private:
  size_t slot_;
  std::deque<HandledSignal> handled_;
};

}  // namespace det::context
