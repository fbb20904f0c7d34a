#pragma once

#include <string>

namespace det {

// How this process was started, quoted so that it can be pasted into a shell.
std::string command_line();

// `text` as one word of a POSIX shell: in quotes where it needs them.
std::string quoted_for_shell(const std::string &text);

// The name of the program, without its folder.
std::string program_name();

}  // namespace det
