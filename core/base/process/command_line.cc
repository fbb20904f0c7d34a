#include "core/base/process/command_line.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

#include "core/base/error.h"
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

namespace {

using Arguments = std::vector<std::string>;

std::string about(const std::string &process, const char *file) {
  return read_file("/proc/" + process + "/" + file);
}

Arguments arguments_of(const std::string &process) {
  Arguments list;
  const std::string arguments = about(process, "cmdline");
  for (size_t at = 0; at < arguments.size(); at += list.back().size() + 1)
    list.emplace_back(arguments.c_str() + at);
  return list;
}

int64_t parent_of(int64_t pid) {
  static constexpr std::string_view key = "\nPPid:\t";
  const std::string status = about(std::to_string(pid), "status");
  const size_t at = status.find(key);
  return at != status.npos ? std::strtoll(status.c_str() + at + key.size(), nullptr, 10) : 0;
}

std::string name_of(const std::string &program) {
  return std::filesystem::path(program).filename().string();
}

bool is_launcher(const std::string &program) {
  static constexpr std::array names = {"mpirun",     "mpiexec",  "orterun",  "prterun",
                                       "horovodrun", "torchrun", "deepspeed"};
  const std::string name = name_of(program);
  return std::ranges::find(names, name.substr(0, name.find('.'))) != names.end();
}

// By itself or as a script or module of Python.
bool is_launcher(const Arguments &arguments) {
  if (arguments.empty()) return false;
  if (is_launcher(arguments[0])) return true;
  if (!name_of(arguments[0]).starts_with("python")) return false;
  for (size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] == "-m")
      return i + 1 < arguments.size() && (arguments[i + 1].starts_with("torch.distributed.") ||
                                          arguments[i + 1].starts_with("deepspeed."));
    if (!arguments[i].starts_with('-')) return is_launcher(arguments[i]);
  }
  return false;
}

bool is_spawned_by_python(const Arguments &arguments) {
  return std::ranges::any_of(arguments, [](const std::string &argument) {
    return argument.starts_with("from multiprocessing.spawn import");
  });
}

std::string quoted(const Arguments &arguments) {
  std::string line;
  for (const std::string &argument : arguments) {
    if (!line.empty()) line += ' ';
    line += quoted_for_shell(argument);
  }
  return line;
}

}  // namespace

std::string command_line() { return quoted(arguments_of("self")); }

// The outermost counts: one launcher may start another one.
std::optional<std::string> launcher_command_line(int64_t pid) {
  constexpr int most_ancestors = 32;
  std::optional<std::string> found;
  try {
    const Arguments own = arguments_of(std::to_string(pid));
    bool is_parent = true;
    for (int i = 0; i < most_ancestors && (pid = parent_of(pid)) > 0; ++i) {
      const Arguments ancestor = arguments_of(std::to_string(pid));
      const bool starts_ranks = is_parent && (ancestor == own || is_spawned_by_python(own));
      if (starts_ranks || is_launcher(ancestor)) found = quoted(ancestor);
      is_parent = false;
    }
  } catch (const Error &) {
    // An ancestor that is gone or hidden: what is known so far has to do.
  }
  return found;
}

std::string program_name() {
  const Arguments arguments = arguments_of("self");
  return arguments.empty() ? "" : name_of(arguments[0]);
}

}  // namespace det
