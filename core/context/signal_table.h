// Which signals our one handler is installed for. What it does is up to the hooks in signals.cc and
// fatal_signals.cc; the handler that was there before is called after them, unless it was the
// default. It may end the process, but must not jump out. In a forked child that one alone counts,
// or the default.
#pragma once

#include <sys/types.h>

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

}  // namespace det::context
