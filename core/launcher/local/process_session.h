// The processes of a session, found by their session and not by their process group: mpirun gives
// each rank a group of its own.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "core/base/file.h"

namespace det::launcher {

// Kills the processes of a session that `belongs` says yes to, and gives those that have not ended
// yet. A process may have started another one meanwhile: the session is empty when none come back.
std::vector<Fd> kill_session(pid_t session, const std::function<bool(pid_t)> &belongs);

// Whether a process was started with all these variables, each "NAME=value".
bool started_with(pid_t pid, const std::vector<std::string> &variables);

// The value of a variable a process was started with; empty when absent or not to be read.
std::string variable_of(pid_t pid, const std::string &name);

}  // namespace det::launcher
