// Questions to the terminal, which answers as if somebody typed.
#pragma once

#include <string>

namespace det::cli {

// What the terminal of standard output answers to `questions`, control sequences that it
// understands or passes over. Ends with the answer to a last one that every terminal has (Primary
// Device Attributes, `CSI c`), or after a second; empty where there is no terminal, or another
// process has it. Takes what is typed meanwhile.
std::string ask_terminal(const std::string &questions);

}  // namespace det::cli
