// Signals as something to poll.
#pragma once

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <initializer_list>

#include "core/base/file.h"

namespace det::cli {

// While one lives, its signals do nothing by themselves.
class HeldSignals {
 public:
  HeldSignals(const HeldSignals &) = delete;
  HeldSignals &operator=(const HeldSignals &) = delete;
  ~HeldSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

  int fd() const { return fd_.get(); }
  int take() const {
    int count = 0;
    signalfd_siginfo info{};
    while (read(fd_.get(), &info, sizeof info) == sizeof info) ++count;
    return count;
  }

 protected:
  explicit HeldSignals(std::initializer_list<int> signals) {
    sigemptyset(&mask_);
    for (const int signal : signals) sigaddset(&mask_, signal);
    sigprocmask(SIG_BLOCK, &mask_, &before_);
    fd_ = Fd(signalfd(-1, &mask_, SFD_NONBLOCK | SFD_CLOEXEC));
  }

 private:
  sigset_t mask_{}, before_{};
  Fd fd_;
};

// Ctrl-C and its like.
struct Interrupts : HeldSignals {
  Interrupts() : HeldSignals({SIGINT, SIGTERM, SIGHUP}) {}
};

// That the terminal has another size.
struct Resizes : HeldSignals {
  Resizes() : HeldSignals({SIGWINCH}) {}
};

}  // namespace det::cli
