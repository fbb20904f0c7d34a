// Signals that end the process, for those who have something to do before.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>

#include "core/base/wake.h"
#include "core/context/signal_table.h"

namespace det {

// While it lives, a signal that ends the process, since nobody handles it, sets `begin` first. The
// process ends of that signal when `done` is set, or after `patience`; a forked child does at once.
class FatalSignalHook {
 public:
  // Throws Code::full when all hooks are taken.
  FatalSignalHook(const Wake &begin, const Wake &done, std::chrono::milliseconds patience);
  // Where a signal is ending the process, both wakes must live on: see signal().
  ~FatalSignalHook();
  FatalSignalHook(const FatalSignalHook &) = delete;
  FatalSignalHook &operator=(const FatalSignalHook &) = delete;

  static int signal() noexcept;  // which one is ending the process; 0: none

  // Does not wait for `done` where the signal comes in the thread that calls this.
  void work_in_this_thread() const noexcept;

 private:
  size_t slot_;
  std::deque<HandledSignal> handled_;
};

}  // namespace det
