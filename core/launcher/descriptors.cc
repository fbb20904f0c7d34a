#include "core/launcher/descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "core/base/error.h"

namespace det {

Fd above_standard(Fd fd, const char *what) {
  if (!fd || fd.get() > STDERR_FILENO) return fd;
  Fd moved(fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!moved) OsFailure{errno}.raise(std::string("opening ") + what);
  return moved;
}

void close_all_but(std::span<const int> kept) {
  unsigned next = STDERR_FILENO + 1;
  for (const int fd : kept) {
    const auto number = static_cast<unsigned>(fd);
    if (number > next) close_range(next, number - 1, 0);
    next = number + 1;
  }
  close_range(next, ~0U, 0);
}

}  // namespace det
