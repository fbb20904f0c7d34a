// Runs part of a test in a process that stops before each of its system calls, so that a test can
// kill it there, or do something in between.
#pragma once

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <functional>
#include <optional>
#include <string>

namespace det::test {

class Traced {
 public:
  // `body` calls what it is given when it wants to be stopped from then on; only the thread that
  // calls it is. What `body` returns is the exit status, 255 when it throws.
  explicit Traced(const std::function<int(const std::function<void()> &)> &body) : child_(fork()) {
    if (child_ == 0) run(body);
    int status = 0;
    if (waitpid(child_, &status, 0) != child_ || !WIFSTOPPED(status)) ended(status);
    else ptrace(PTRACE_SETOPTIONS, child_, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  }
  Traced(const Traced &) = delete;
  Traced &operator=(const Traced &) = delete;
  ~Traced() {
    if (!status_) kill();
  }

  // Goes on until the next system call; its number, or nothing once the process has ended.
  std::optional<long> next() {
    int signal = 0;
    while (!status_) {
      ptrace(PTRACE_SYSCALL, child_, 0, signal);
      int status = 0;
      if (waitpid(child_, &status, 0) != child_ || !WIFSTOPPED(status)) {
        ended(status);
        break;
      }
      signal = WSTOPSIG(status);
      if (signal != (SIGTRAP | 0x80)) continue;
      signal = 0;
      __ptrace_syscall_info call{};
      ptrace(PTRACE_GET_SYSCALL_INFO, child_, sizeof call, &call);
      if (call.op == PTRACE_SYSCALL_INFO_ENTRY) return static_cast<long>(call.entry.nr);
    }
    return std::nullopt;
  }

  // Stops before the `count`-th call of this number; false when it has ended before.
  bool until(long number, int count = 1) {
    while (const std::optional<long> call = next())
      if (*call == number && --count == 0) return true;
    return false;
  }

  void kill() {
    ::kill(child_, SIGKILL);
    int status = 0;
    waitpid(child_, &status, 0);
    ended(status);
  }

  // Lets it run to its end: its exit status, or minus the signal that ended it.
  int finish() {
    while (next()) {
    }
    return *status_;
  }

 private:
  void ended(int status) { status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status); }

  [[noreturn]] static void run(const std::function<int(const std::function<void()> &)> &body) {
    int status = 255;
    try {
      status = body([] {
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        raise(SIGSTOP);
      });
    } catch (const std::exception &error) {
      const std::string text = "# the traced process: " + std::string(error.what()) + "\n";
      [[maybe_unused]] const ssize_t put = write(STDERR_FILENO, text.data(), text.size());
    }
    _exit(status);
  }

  const pid_t child_;
  std::optional<int> status_;
};

}  // namespace det::test
