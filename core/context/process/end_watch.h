// The end of a process that did not close what it had open, for those who must still tell somebody.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace det::context {

// While it lives, the end of the process is told before it happens: by exit(), which the return
// from main() and std::exit() come to, or by one of the signals SIGHUP, SIGINT, SIGQUIT, SIGILL,
// SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV and SIGTERM, where nobody handles or ignores it. An
// uncaught exception comes as SIGABRT. The process ends as it would have, with the same status.
//
// Not told: _exit(), quick_exit(), SIGKILL, and the end of forked children.
class EndWatch {
 public:
  // Called at most once: with the exit status on the thread that exits, or with minus the number of
  // the signal on a thread of its own. May destroy the watch; what it throws is ignored.
  using Told = std::function<void(int status)>;

  // A signal ends the process after `patience` even when `told` has not returned. Throws Code::full
  // where too many watch.
  explicit EndWatch(Told told, std::chrono::milliseconds patience = std::chrono::seconds(5));

  // When it returns, `told` is not called any more, and no call goes on elsewhere. In a forked
  // child: nothing.
  ~EndWatch();
  EndWatch(const EndWatch &) = delete;
  EndWatch &operator=(const EndWatch &) = delete;

 private:
  class State;

  std::shared_ptr<State> state_;
};

}  // namespace det::context
