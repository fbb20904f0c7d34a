// Ctrl-C and its like as something to poll.
#pragma once

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "core/base/file.h"

namespace det::cli {

// While one lives, these signals end nothing.
class Interrupts {
 public:
  Interrupts() {
    sigemptyset(&mask_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&mask_, signal);
    sigprocmask(SIG_BLOCK, &mask_, &before_);
    fd_ = Fd(signalfd(-1, &mask_, SFD_NONBLOCK | SFD_CLOEXEC));
  }
  Interrupts(const Interrupts &) = delete;
  Interrupts &operator=(const Interrupts &) = delete;
  ~Interrupts() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

  int fd() const { return fd_.get(); }
  int take() const {
    int count = 0;
    signalfd_siginfo info{};
    while (read(fd_.get(), &info, sizeof info) == sizeof info) ++count;
    return count;
  }

 private:
  sigset_t mask_{}, before_{};
  Fd fd_;
};

}  // namespace det::cli
