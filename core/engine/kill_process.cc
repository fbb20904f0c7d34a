#include "core/engine/kill_process.h"

#include <cerrno>
#include <string>

#include "core/base/error.h"
#include "core/base/pidfd.h"

namespace det::engine {

namespace {

constexpr std::chrono::seconds death{
    5};  // a killed process that is in a system call takes its time

}  // namespace

void kill_process(const ProcessIdentity &process) {
  const std::string who = "process " + std::to_string(process.pid);
  if (liveness(process) != Liveness::alive) return;
  const Fd handle = open_process(static_cast<pid_t>(process.pid));
  // Its number cannot pass on to another process any more.
  if (!handle || liveness(process) != Liveness::alive) return;
  if (!send_kill(handle)) OsFailure{errno}.raise("killing " + who);
  ends_within(handle, death);
}

}  // namespace det::engine
