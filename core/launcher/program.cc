#include "core/launcher/program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/error.h"

namespace det::launcher {

namespace fs = std::filesystem;

namespace {

enum class Finding { nothing, directory, not_executable, program };

Finding look_at(const fs::path &path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return Finding::nothing;
  if (S_ISDIR(about.st_mode)) return Finding::directory;
  return faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? Finding::program
                                                                  : Finding::not_executable;
}

std::string starting(const fs::path &program) { return "starting '" + program.string() + "': "; }

[[noreturn]] void throw_not_executable(const fs::path &program) {
  throw Error(Code::access,
              starting(program) +
                  "it may not be executed; run chmod +x on it, or name the "
                  "interpreter in the command: python3 " +
                  program.string(),
              EACCES);
}

fs::path find_by_path(const std::string &name, const fs::path &directory) {
  const fs::path path = directory / name;
  switch (look_at(path)) {
    case Finding::program:
      return path;
    case Finding::not_executable:
      throw_not_executable(path);
    case Finding::directory:
      throw Error(Code::access, starting(path) + "it is a directory; name a program in it", EISDIR);
    case Finding::nothing:
      break;
  }
  throw Error(Code::not_found,
              starting(name) + "there is no such file in '" + directory.string() +
                  "'; check the command, or start it from another directory",
              ENOENT);
}

}  // namespace

fs::path find_program(const std::string &name, const std::string &search_path,
                      const fs::path &directory) {
  if (name.find('/') != name.npos) return find_by_path(name, directory);
  fs::path not_executable;
  for (size_t begin = 0; !name.empty() && begin <= search_path.size();) {
    const size_t end = std::min(search_path.find(':', begin), search_path.size());
    const fs::path path = directory / search_path.substr(begin, end - begin) / name;
    const Finding found = look_at(path);
    if (found == Finding::program) return path;
    if (found == Finding::not_executable && not_executable.empty()) not_executable = path;
    begin = end + 1;
  }
  if (!not_executable.empty()) throw_not_executable(not_executable);
  throw Error(Code::not_found,
              starting(name) +
                  "there is no such command in the PATH; check its name, or give its "
                  "path, as in ./" +
                  name,
              ENOENT);
}

void throw_not_started(int os_errno, const fs::path &program) {
  switch (os_errno) {
    case ENOEXEC:
      throw Error(Code::invalid,
                  starting(program) +
                      "it is no program of this machine; a script needs a first "
                      "line like #!/bin/sh",
                  os_errno);
    case ENOENT:
      throw Error(Code::not_found,
                  starting(program) + "the interpreter that its first line names does not exist",
                  os_errno);
    case EACCES:
      throw Error(Code::access,
                  starting(program) +
                      "permission denied; check that neither its folder nor a "
                      "mount option (noexec) forbids it",
                  os_errno);
    case E2BIG:
      throw Error(Code::invalid,
                  starting(program) +
                      "its arguments and variables are too large (a variable may "
                      "hold 128 KiB); make the experiment's configuration smaller",
                  os_errno);
    default:
      OsFailure{os_errno}.raise("starting '" + program.string() + "'");
  }
}

}  // namespace det::launcher
