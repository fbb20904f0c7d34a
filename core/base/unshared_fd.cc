#include "core/base/unshared_fd.h"

#include <pthread.h>
#include <unistd.h>

#include <mutex>
#include <vector>

#include "core/base/error.h"

namespace det {

namespace {

// Never destroyed: others end later.
std::vector<int> &open_ones() {
  static auto &one = *new std::vector<int>;
  return one;
}

}  // namespace

ForkMutex UnsharedFd::mutex_;

UnsharedFd::UnsharedFd(Fd fd) {
  if (!fd) return;
  const std::lock_guard guard(mutex_);
  keep(std::move(fd));
}

void UnsharedFd::keep(Fd fd) {
  static const int registered = pthread_atfork(nullptr, nullptr, close_in_child);
  if (registered != 0) OsFailure{registered}.raise("preparing for forked children");
  open_ones().push_back(fd.get());
  fd_ = fd.release();
  generation_ = current_;
}

UnsharedFd::~UnsharedFd() {
  if (!*this) return;
  const std::lock_guard guard(mutex_);
  std::erase(open_ones(), fd_);
  close(fd_);
}

void UnsharedFd::close_in_child() {
  for (const int fd : open_ones()) close(fd);
  open_ones().clear();
  ++current_;
}

}  // namespace det
