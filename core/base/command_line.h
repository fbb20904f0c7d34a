#pragma once

#include <string>

namespace det {

// How this process was started, quoted so that it can be pasted into a shell.
std::string command_line();

// The name of the program, without its folder.
std::string program_name();

}  // namespace det
