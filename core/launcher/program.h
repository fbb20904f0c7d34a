// Which program a command names, and why one could not be started.
#pragma once

#include <filesystem>
#include <string>

namespace det::launcher {

// As a shell finds it: `name` itself when it has a slash, else in the folders of `search_path`;
// relative ones from `directory`. Throws Code::not_found, or Code::access for what cannot be run.
std::filesystem::path find_program(const std::string &name, const std::string &search_path,
                                   const std::filesystem::path &directory);

// Throws for an execve(2) of `program` that failed.
[[noreturn]] void throw_not_started(int os_errno, const std::filesystem::path &program);

}  // namespace det::launcher
