#pragma once

#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>

namespace det {

// How this process was started, quoted so that it can be pasted into a shell.
std::string command_line();

// The same of what started all processes of a job that `pid` is one of, as far as its ancestors
// tell: a launcher such as mpirun or torchrun, or a program that forked them or had Python spawn
// them. Nothing where that cannot be seen from this machine, as of srun.
std::optional<std::string> launcher_command_line(int64_t pid = getpid());

// `text` as one word of a POSIX shell: in quotes where it needs them.
std::string quoted_for_shell(const std::string &text);

// The name of the program, without its folder.
std::string program_name();

}  // namespace det
