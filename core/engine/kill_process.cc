#include "core/engine/kill_process.h"

#include <poll.h>
#include <signal.h>

extern "C" {  // the header of glibc 2.36 lacks it
#include <sys/pidfd.h>
}

#include <cerrno>
#include <string>

#include "core/base/error.h"

namespace det {

namespace {

constexpr int death_ms = 5000;  // a killed process that is in a system call takes its time

}  // namespace

void kill_process(const ProcessIdentity &process) {
  const std::string who = "process " + std::to_string(process.pid);
  const Fd handle(pidfd_open(static_cast<pid_t>(process.pid), 0));
  // Looked at again now that its number cannot pass on to another process.
  if (liveness(process) != Liveness::alive) return;
  if (!handle) OsFailure{errno}.raise("killing " + who);
  if (pidfd_send_signal(handle.get(), SIGKILL, nullptr, 0) != 0 && errno != ESRCH)
    OsFailure{errno}.raise("killing " + who);
  pollfd death{handle.get(), POLLIN, 0};
  poll(&death, 1, death_ms);
}

}  // namespace det
