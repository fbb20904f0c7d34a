// Signals of the operating system, for those who asked for it. Nothing is installed otherwise.
#pragma once

#include <memory>
#include <vector>

#include "core/base/wake.h"
#include "core/context/signal_table.h"

namespace det::context {

// While it lives, arriving signals mark the hook and set its wake; the handler that was there
// before is called as well, unless it was the default. Several hooks may share a signal.
class SignalHook {
 public:
  // Throws Code::invalid for a number that cannot be handled, Code::full when all hooks are taken.
  SignalHook(int signal, const Wake &wake);
  ~SignalHook();
  SignalHook(const SignalHook &) = delete;
  SignalHook &operator=(const SignalHook &) = delete;

  int signal() const { return handled_.signal(); }
  bool raised() const noexcept;

 private:
  const HandledSignal handled_;
  const int slot_;
};

// Hooks on several signals, with one wake.
class SignalHooks {
 public:
  SignalHooks() = default;
  explicit SignalHooks(const std::vector<int> &signals);

  const Wake &wake() const { return wake_; }
  const SignalHook *raised() const noexcept;  // the first that was; null: none
  // The signals; the wake stays. Of those that were raised more may come, to no effect.
  void release();

 private:
  const Wake wake_;
  std::vector<std::unique_ptr<SignalHook>> hooks_;
};

// While it lives, the signal prints the stack of the thread it interrupts to standard error.
class StackTraceHook {
 public:
  explicit StackTraceHook(int signal);
  ~StackTraceHook();
  StackTraceHook(const StackTraceHook &) = delete;
  StackTraceHook &operator=(const StackTraceHook &) = delete;

 private:
  const HandledSignal handled_;
  int slot_;
};

}  // namespace det::context
