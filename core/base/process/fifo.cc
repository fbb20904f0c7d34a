#include "core/base/process/fifo.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/base/error.h"

namespace det {

bool make_fifo(const std::filesystem::path &path) {
  if (mkfifo(path.c_str(), 0600) == 0 || errno == EEXIST) return true;
  for (const int reason : {ENOENT, ENOTDIR, EACCES, ENOSPC, EDQUOT, EROFS, EIO, ENOMEM})
    if (errno == reason) OsFailure{errno}.raise("making the FIFO '" + path.string() + "'");
  return false;  // each file system has an error of its own for that
}

// Read and write, so that it does not end when the last writer closes it.
KnownFd open_fifo(const std::filesystem::path &path) {
  return KnownFd(Fd(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC)));
}

void drain_fifo(const KnownFd &fifo) {
  std::array<char, 256> bytes;
  while (read(fifo.get(), bytes.data(), bytes.size()) > 0) {
  }
}

bool wake_fifo(const std::filesystem::path &path) {
  const Fd fifo(open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  const char byte = 1;
  if (!fifo) return false;
  (void)!write(fifo.get(), &byte, 1);  // full: it is awake already
  return true;
}

}  // namespace det
