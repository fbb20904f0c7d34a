// What `det` answers to the shell. Documented in docs/cli.md; the numbers never change.
#pragma once

#include <det/error.h>

#include <stdexcept>
#include <string>

namespace det::cli {

enum class ExitCode : int {
  ok = 0,
  internal = 1,
  usage = 2,
  not_found = 3,
  busy = 4,
  state = 5,
  io = 6,
  unsupported = 7,
  unavailable = 8,
  // Of `det run`: how the experiment stands.
  failed = 9,
  canceled = 10,
  paused = 11,
  // Of `det next`, in the script of a trial.
  no_more_work = 12,
  asked_to_stop = 13,
};

// Ends the command with a code and nothing more to say.
struct Ended {
  ExitCode code;
};

// Ends the command: main() prints `what()` as `det: ...` and leaves with `code`.
struct Failure : std::runtime_error {
  Failure(ExitCode code, const std::string &message) : std::runtime_error(message), code(code) {}
  ExitCode code;
};

ExitCode exit_code_of(det_status status);

}  // namespace det::cli
