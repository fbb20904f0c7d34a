#include "core/comm/foreign_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

#include "core/base/error.h"

namespace det::comm {

void read_memory(const Bulk &from, char *to, size_t size) {
  for (size_t done = 0; done < size;) {
    const iovec here{to + done, size - done};
    const iovec there{reinterpret_cast<void *>(from.address + done), size - done};
    const ssize_t got = process_vm_readv(static_cast<pid_t>(from.process), &here, 1, &there, 1, 0);
    const int reason = errno;
    if (got < 0 && reason == EINTR) continue;
    if (got <= 0)
      throw Error(Code::unavailable,
                  "reading a message in the memory of process " + std::to_string(from.process) +
                      ": " + errno_text(reason) + "; see whether that rank still runs",
                  reason);
    done += static_cast<size_t>(got);
  }
}

std::string invite_to_read(const std::string &known) {
  return std::to_string(getpid()) + " " + std::to_string(reinterpret_cast<uintptr_t>(known.data()));
}

bool can_read(const std::string &invitation, const std::string &known) noexcept try {
  std::istringstream numbers(invitation);
  Bulk bulk;
  if (!(numbers >> bulk.process >> bulk.address)) return false;
  std::string found(known.size(), '\0');
  read_memory(bulk, found.data(), found.size());
  return found == known;
} catch (const std::exception &) {
  return false;
}

}  // namespace det::comm
