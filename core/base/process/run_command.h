// Commands that are run for what they say.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace det {

struct CommandResult {
  int status = 0;  // of its exit; as in a shell, 128 and a signal
  std::string output;
};

// Has the shell run `command`, with `variables` ("NAME=value") before those of this process, no
// input, and our standard error. Blocks until it has ended and its output is closed. Throws
// Code::timeout where that takes longer than `limit`, when it is killed with all that it started,
// and Code::invalid where it says more than `most` bytes. Neither repeats the command: there may be
// secrets in it.
CommandResult run_command(const std::string &command, const std::vector<std::string> &variables,
                          std::chrono::milliseconds limit, size_t most = size_t{1} << 20U);

}  // namespace det
