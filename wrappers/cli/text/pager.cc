#include "wrappers/cli/text/pager.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio_ext.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <string>

extern char **environ;

namespace det::cli {

namespace {

bool is_program(const std::string &name) {
  if (name.empty()) return false;
  if (name.find('/') != name.npos) return access(name.c_str(), X_OK) == 0;
  const char *path = std::getenv("PATH");
  std::istringstream directories(path ? path : "/usr/bin:/bin");
  for (std::string directory; std::getline(directories, directory, ':');)
    if (access((directory + "/" + name).c_str(), X_OK) == 0) return true;
  return false;
}

// The command line of the pager; empty for none.
std::string pager_command() {
  const char *chosen = std::getenv("PAGER");
  const std::string command = chosen ? chosen : "less -FRX";
  std::string program;
  std::istringstream(command) >> program;
  return program == "cat" || !is_program(program) ? "" : command;
}

// The keys of a terminal are for the pager, as long as it lives.
void leave_keys_to_pager() {
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGQUIT, SIG_IGN);
  std::signal(SIGCHLD, [](int) {
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGQUIT, SIG_DFL);
  });
}

void take_keys_back() {
  for (const int number : {SIGCHLD, SIGINT, SIGQUIT}) std::signal(number, SIG_DFL);
}

pid_t start_pager(const std::string &command, int input) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  std::string shell = "sh", option = "-c", text = command;
  char *arguments[] = {shell.data(), option.data(), text.data(), nullptr};
  pid_t process = 0;
  if (posix_spawnp(&process, "sh", &files, &attributes, arguments, environ) != 0) process = 0;
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return process;
}

}  // namespace

Pager::Pager(const Terminal &terminal, bool wanted) {
  const std::string command = wanted && terminal.cursor ? pager_command() : "";
  int ends[2];
  if (command.empty() || pipe2(ends, O_CLOEXEC) != 0) return;
  const Fd input(ends[0]), output(ends[1]);
  setenv("LESS", "FRX", 0);  // for a $PAGER that is less
  process_ = start_pager(command, input.get());
  if (process_ == 0) return;
  leave_keys_to_pager();
  flush_output();
  before_ = Fd(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  dup2(output.get(), STDOUT_FILENO);
}

Pager::~Pager() {
  if (process_ == 0) return;
  std::fflush(stdout);
  __fpurge(stdout);  // what a pager that has gone did not take is for nobody else
  std::clearerr(stdout);
  dup2(before_.get(), STDOUT_FILENO);
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  take_keys_back();
}

}  // namespace det::cli
