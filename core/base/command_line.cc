#include "core/base/command_line.h"

#include <filesystem>

#include "core/base/file.h"

namespace det {

std::string quoted_for_shell(const std::string &text) {
  constexpr const char *plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!text.empty() && text.find_first_not_of(plain) == text.npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string command_line() {
  std::string line;
  const std::string arguments = read_file("/proc/self/cmdline");
  for (size_t at = 0; at < arguments.size();) {
    const std::string argument = arguments.c_str() + at;
    at += argument.size() + 1;
    if (!line.empty()) line += ' ';
    line += quoted_for_shell(argument);
  }
  return line;
}

std::string program_name() {
  const std::string arguments = read_file("/proc/self/cmdline");
  return std::filesystem::path(arguments.c_str()).filename().string();
}

}  // namespace det
