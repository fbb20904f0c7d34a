// Processes held by file descriptors, so that a signal never reaches another one that has come to
// the same number.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>

#include <chrono>

#include "core/base/file.h"

namespace det {

// waitid()'s P_PIDFD, which glibc names since 2.36.
constexpr auto by_pidfd = static_cast<idtype_t>(3);

// No Fd when there is no such process. Throws Code::unsupported where the kernel has no pidfds.
Fd open_process(pid_t pid);

// Whether it has ended, all its threads included. (It may still have to be waited for.)
bool has_ended(const Fd &process);

// The same, waiting for it for so long.
bool ends_within(const Fd &process, std::chrono::milliseconds limit);

// SIGKILL; does nothing to a process that has ended. False with errno where it may not be sent.
bool send_kill(const Fd &process);

}  // namespace det
