#include "core/base/process/unshared_fd.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <vector>

#include "core/base/error.h"

namespace det {

namespace {

struct OpenOne {
  int fd;
  dev_t device;
  ino_t inode;
};

// Never destroyed: others end later.
std::vector<OpenOne> &open_ones() {
  static auto &one = *new std::vector<OpenOne>;
  return one;
}

// A host may have closed it, and then has the number for something of its own. Async-signal-safe.
void close_if_ours(const OpenOne &one) noexcept {
  struct stat about {};
  if (fstat(one.fd, &about) == 0 && about.st_dev == one.device && about.st_ino == one.inode)
    close(one.fd);
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
  struct stat about {};
  if (fstat(fd.get(), &about) != 0) OsFailure{errno}.raise("looking at an open file");
  open_ones().push_back({fd.get(), about.st_dev, about.st_ino});
  fd_ = fd.release();
  generation_ = current_;
}

UnsharedFd::~UnsharedFd() {
  if (!*this) return;
  const std::lock_guard guard(mutex_);
  const auto own = std::ranges::find(open_ones(), fd_, &OpenOne::fd);
  close_if_ours(*own);
  open_ones().erase(own);
}

void UnsharedFd::close_in_child() {
  for (const OpenOne &one : open_ones()) close_if_ours(one);
  open_ones().clear();
  ++current_;
}

}  // namespace det
