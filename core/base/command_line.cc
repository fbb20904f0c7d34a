#include "core/base/command_line.h"

#include <filesystem>

#include "core/base/file.h"

namespace det {

std::string command_line() {
  std::string line;
  const std::string arguments = read_file("/proc/self/cmdline");
  for (size_t at = 0; at < arguments.size();) {
    const std::string argument = arguments.c_str() + at;
    at += argument.size() + 1;
    if (!line.empty()) line += ' ';
    const bool plain = !argument.empty() &&
                       argument.find_first_of(" \t\n'\"\\$`&|;<>()*?[]{}#~!") == argument.npos;
    if (plain) {
      line += argument;
      continue;
    }
    line += '\'';
    for (const char c : argument) line += c == '\'' ? "'\\''" : std::string(1, c);
    line += '\'';
  }
  return line;
}

std::string program_name() {
  const std::string arguments = read_file("/proc/self/cmdline");
  return std::filesystem::path(arguments.c_str()).filename().string();
}

}  // namespace det
