#include "core/launcher/local/child.h"

#include <sys/wait.h>

#include <cerrno>

#include "core/base/pidfd.h"

namespace det::launcher {

std::optional<LaunchedExit> peek_exit(const Fd &child) {
  siginfo_t how{};
  if (waitid(by_pidfd, static_cast<id_t>(child.get()), &how, WEXITED | WNOHANG | WNOWAIT) != 0)
    // Somebody has the kernel forget children that end.
    return has_ended(child) ? std::optional(LaunchedExit{.kind = LaunchedExit::Kind::unknown})
                            : std::nullopt;
  if (how.si_pid == 0) return std::nullopt;
  const bool exited = how.si_code == CLD_EXITED;
  return LaunchedExit{.kind = exited ? LaunchedExit::Kind::exited : LaunchedExit::Kind::signaled,
                      .status = how.si_status};
}

void wait_for(const Fd &child) {
  siginfo_t how{};
  while (waitid(by_pidfd, static_cast<id_t>(child.get()), &how, WEXITED) != 0 && errno == EINTR) {
  }
}

}  // namespace det::launcher
