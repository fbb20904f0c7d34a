#include "core/launcher/local/descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "core/base/error.h"

namespace det::launcher {

namespace {

// Zero for a name that is no number.
unsigned number_in(const char *name) {
  unsigned number = 0;
  for (; *name >= '0' && *name <= '9'; ++name)
    number = 10 * number + static_cast<unsigned>(*name - '0');
  return number;
}

// Before Linux 5.9, and under filters that do not know close_range(2): what there is, one by one.
// readdir() would allocate.
void close_open_ones(unsigned first, unsigned last) {
  const Fd list(open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  alignas(dirent64) std::array<char, 4096> entries;
  for (;;) {
    const long size = syscall(SYS_getdents64, list.get(), entries.data(), entries.size());
    if (size <= 0) return;
    for (long at = 0; at < size;) {
      const auto *entry = reinterpret_cast<const dirent64 *>(&entries[static_cast<size_t>(at)]);
      const unsigned fd = number_in(entry->d_name);
      if (fd >= first && fd <= last && fd != static_cast<unsigned>(list.get()))
        close(static_cast<int>(fd));
      at += entry->d_reclen;
    }
  }
}

void close_all_from(unsigned first, unsigned last) {
  if (syscall(SYS_close_range, first, last, 0) != 0) close_open_ones(first, last);
}

}  // namespace

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
    if (number > next) close_all_from(next, number - 1);
    next = number + 1;
  }
  close_all_from(next, ~0U);
}

}  // namespace det::launcher
