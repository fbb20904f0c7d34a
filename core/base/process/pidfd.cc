#include "core/base/process/pidfd.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/error.h"

namespace det {

// By number: glibc 2.36 declares these calls for C only.
Fd open_process(pid_t pid) {
  if (pid <= 0) return Fd();
  Fd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (process || errno == ESRCH || errno == EINVAL) return process;
  if (errno == ENOSYS || errno == EPERM)
    throw Error(Code::unsupported,
                "watching a process: pidfd_open(2) is not allowed here; it needs Linux 5.4 or "
                "later, and a container whose seccomp profile allows it",
                errno);
  OsFailure{errno}.raise("watching process " + std::to_string(pid));
}

bool has_ended(const Fd &process) { return ends_within(process, std::chrono::milliseconds(0)); }

bool ends_within(const Fd &process, std::chrono::milliseconds limit) {
  pollfd end{process.get(), POLLIN, 0};
  return poll(&end, 1, static_cast<int>(limit.count())) == 1;
}

bool send_kill(const Fd &process) {
  return syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) == 0 || errno == ESRCH;
}

}  // namespace det
