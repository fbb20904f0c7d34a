// A file descriptor that forked children do not keep: a child that outlives its parent would hold a
// connection, a port or a lock of the dead.
#pragma once

#include <utility>

#include "core/base/file.h"
#include "core/base/process/fork_guard.h"

namespace det {

class UnsharedFd {
 public:
  UnsharedFd() = default;
  explicit UnsharedFd(Fd fd);
  // Of what `make` returns, which must not wait: no child is forked in between.
  template <class Make>
  static UnsharedFd made_by(const Make &make) {
    const std::lock_guard guard(mutex_);
    UnsharedFd made;
    if (Fd fd = make()) made.keep(std::move(fd));
    return made;
  }
  UnsharedFd(UnsharedFd &&other) noexcept { *this = std::move(other); }
  UnsharedFd &operator=(UnsharedFd &&other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(generation_, other.generation_);
    return *this;
  }
  UnsharedFd(const UnsharedFd &) = delete;
  UnsharedFd &operator=(const UnsharedFd &) = delete;
  ~UnsharedFd();

  int get() const { return fd_; }
  // False in a forked child of the process that opened it.
  explicit operator bool() const { return fd_ >= 0 && generation_ == current_; }

 private:
  void keep(Fd fd);
  static void close_in_child();

  static ForkMutex mutex_;
  static inline unsigned current_ = 0;  // how many forks lead to this process

  int fd_ = -1;
  unsigned generation_ = 0;
};

}  // namespace det
