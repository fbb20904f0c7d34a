#include "core/base/process/run_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/process/pidfd.h"

namespace det {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char *tried = "running a command";

// Of posix_spawn(), whose functions return the error.
void check(int os_errno) {
  if (os_errno != 0) OsFailure{os_errno}.raise(tried);
}

class SpawnActions {
 public:
  SpawnActions() { check(posix_spawn_file_actions_init(&actions_)); }
  SpawnActions(const SpawnActions &) = delete;
  SpawnActions &operator=(const SpawnActions &) = delete;
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  posix_spawn_file_actions_t *get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

// A group of its own, and none of this process's signals ignored or held back.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    check(posix_spawnattr_init(&attributes_));
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  SpawnAttributes(const SpawnAttributes &) = delete;
  SpawnAttributes &operator=(const SpawnAttributes &) = delete;
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
  const posix_spawnattr_t *get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

std::vector<char *> environment_with(const std::vector<std::string> &variables) {
  std::vector<char *> all;
  for (const std::string &variable : variables) all.push_back(const_cast<char *>(variable.c_str()));
  for (char **entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view name(*entry, std::string_view(*entry).find('=') + 1);
    const bool is_given = std::any_of(variables.begin(), variables.end(),
                                      [&](const std::string &v) { return v.starts_with(name); });
    if (!is_given) all.push_back(*entry);
  }
  all.push_back(nullptr);
  return all;
}

// The process of a command, which ends with this at the latest.
class Running {
 public:
  Running(const std::string &command, const std::vector<std::string> &variables, int output) {
    SpawnActions actions;
    check(posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0));
    check(posix_spawn_file_actions_adddup2(actions.get(), output, STDOUT_FILENO));
    const SpawnAttributes attributes;
    std::string shell = "sh", option = "-c", text = command;
    char *const arguments[] = {shell.data(), option.data(), text.data(), nullptr};
    check(posix_spawn(&pid_, "/bin/sh", actions.get(), attributes.get(), arguments,
                      environment_with(variables).data()));
  }
  Running(const Running &) = delete;
  Running &operator=(const Running &) = delete;
  ~Running() {
    if (pid_ > 0) end();
  }

  // Its status, waiting for it until `ends`; -1: it has not ended.
  int wait_until(steady_clock::time_point ends) {
    const Fd process = open_process(pid_);
    const auto left = std::chrono::ceil<milliseconds>(ends - steady_clock::now());
    if (process && !ends_within(process, std::max(left, milliseconds{0}))) return -1;
    return reap();
  }

 private:
  void end() {
    kill(-pid_, SIGKILL);
    reap();
  }

  // Where the host waits for its children by itself, the status is lost: what it said must do.
  int reap() {
    int status = 0;
    pid_t ended = 0;
    do {
      ended = waitpid(pid_, &status, 0);
    } while (ended < 0 && errno == EINTR);
    pid_ = 0;
    if (ended < 0) return 0;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  pid_t pid_ = 0;
};

bool is_readable_by(int fd, steady_clock::time_point ends) {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(ends - steady_clock::now());
    pollfd waiting{fd, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (ready >= 0) return ready > 0;
    if (errno != EINTR) OsFailure{errno}.raise(tried);
  }
}

[[noreturn]] void too_slow(milliseconds limit) {
  throw Error(Code::timeout, std::string(tried) + ": it has not ended within " +
                                 std::to_string(limit.count()) + " ms, and was killed");
}

}  // namespace

CommandResult run_command(const std::string &command, const std::vector<std::string> &variables,
                          milliseconds limit, size_t most) {
  const auto ends = steady_clock::now() + limit;
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) OsFailure{errno}.raise(tried);
  const Fd output(pipe_ends[0]);
  Fd input(pipe_ends[1]);
  Running running(command, variables, input.get());
  input = Fd();
  CommandResult result;
  char bytes[4096];
  for (;;) {
    if (!is_readable_by(output.get(), ends)) too_slow(limit);
    const ssize_t got = read(output.get(), bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) OsFailure{errno}.raise(tried);
    if (got == 0) break;
    if (static_cast<size_t>(got) > most - result.output.size())
      throw Error(Code::invalid, std::string(tried) + ": it says more than the " +
                                     std::to_string(most) + " bytes that are read");
    result.output.append(bytes, static_cast<size_t>(got));
  }
  result.status = running.wait_until(ends);
  if (result.status < 0) too_slow(limit);
  return result;
}

}  // namespace det
