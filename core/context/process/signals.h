// Signals of the operating system, for those who asked for them. Nothing is installed otherwise.
//
// One handler of ours is installed for all of them. What it does is up to the hooks, here and of
// EndWatch; the handler that was there before is called after them, unless it was the default. It
// may end the process, but must not jump out. In a forked child that one alone counts, or the
// default.
#pragma once

#include <sys/types.h>

#include <memory>
#include <vector>

#include "core/base/wake.h"

namespace det::context {

// While it lives, the signal comes to our handler. When the last one for a signal goes, what was
// there before is back, unless somebody has installed another handler meanwhile: that one may call
// ours.
class HandledSignal {
 public:
  explicit HandledSignal(int signal);  // throws Code::invalid for a number that cannot be handled
  ~HandledSignal();
  HandledSignal(const HandledSignal &) = delete;
  HandledSignal &operator=(const HandledSignal &) = delete;

  int signal() const { return signal_; }

 private:
  const int signal_;
  const pid_t process_;
};

// For a while the signal does nothing more, where it would end the process by default: this process
// ends already as it was asked to. Only while it is handled, and nothing where the host handles it.
void keep_quiet(int signal) noexcept;

// Whether nobody has a handler for it, or ignores it, apart from us.
bool is_unhandled(int signal);

// Until no handler that began before still uses a hook.
void wait_for_running_handlers();

// Of the hooks, in the handler.
bool tell_signal_hooks(int signal) noexcept;    // false: nobody wants it
bool end_by_fatal_signal(int signal) noexcept;  // for those that nobody wants; false: not fatal

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
