#include "core/base/wake.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "core/base/error.h"

namespace det {

Wake::Wake() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!fd_) OsFailure{errno}.raise("making an eventfd");
}

void Wake::set() const noexcept {
  const uint64_t one = 1;
  // Fails only when the counter is full, and then it is set already.
  [[maybe_unused]] const ssize_t put = write(fd_.get(), &one, sizeof one);
}

void Wake::clear() const noexcept {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(fd_.get(), &count, sizeof count);
}

}  // namespace det
