#include "core/launcher/local/held_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "core/base/error.h"
#include "core/launcher/local/descriptors.h"
#include "core/launcher/program.h"

namespace det::launcher {

namespace {

// What a child says over its channel when it cannot become the program.
struct Failure {
  enum Step { directory, program } step;
  int os_errno;
};

// All that a child needs, ready before the fork: after it only async-signal-safe calls are allowed.
struct Child {
  const char *program, *directory;
  char *const *arguments, *const *environment;
  int input, log, channel;
  std::span<const int> kept;  // in order; what the program inherits, and the channel
};

[[noreturn]] void give_up(int channel, Failure failure) {
  [[maybe_unused]] const ssize_t sent = send(channel, &failure, sizeof failure, MSG_NOSIGNAL);
  _exit(127);
}

// A Ctrl-C that came before setsid() was for the parent's group, and is pending here. To ignore a
// signal discards it.
void reset_signals() {
  struct sigaction ignored {
  }, action{};
  ignored.sa_handler = SIG_IGN;
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) {
    sigaction(number, &ignored, nullptr);
    sigaction(number, &action, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void be_child(const Child &child) {
  setsid();
  reset_signals();
  dup2(child.input, STDIN_FILENO);
  dup2(child.log, STDOUT_FILENO);
  dup2(child.log, STDERR_FILENO);
  // The channels of other children go: theirs must end with our parent and not with us.
  close_all_but(child.kept);
  char go = 0;
  ssize_t got = 0;
  do {
    got = read(child.channel, &go, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) _exit(0);
  for (const int fd : child.kept)
    if (fd != child.channel) fcntl(fd, F_SETFD, 0);
  if (chdir(child.directory) != 0) give_up(child.channel, {Failure::directory, errno});
  execve(child.program, child.arguments, child.environment);
  give_up(child.channel, {Failure::program, errno});
}

std::vector<char *> pointers_to(const std::vector<std::string> &texts) {
  std::vector<char *> pointers;
  for (const std::string &text : texts) pointers.push_back(const_cast<char *>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// No handler of this process may run in the child.
pid_t fork_without_signals(const Child &child) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork();
  const int reason = errno;
  if (pid == 0) be_child(child);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0)
    throw Error(reason == ENOMEM ? Code::no_memory : Code::unavailable,
                "starting a process: the system allows no more of them; raise the limit "
                "(ulimit -u) or run fewer at once",
                reason);
  return pid;
}

}  // namespace

HeldProcess::HeldProcess(Start start) : start_(std::move(start)) {
  const Fd input = above_standard(open_file("/dev/null", O_RDONLY), "/dev/null");
  const Fd log =
      above_standard(open_file(start_.log_file, O_WRONLY | O_APPEND | O_CREAT, 0600), "a log");
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    OsFailure{errno}.raise("making a socket pair");
  Fd ours(ends[0]), theirs(ends[1]);
  channel_ = above_standard(std::move(ours), "a socket pair");
  const Fd child_end = above_standard(std::move(theirs), "a socket pair");
  const std::vector<char *> arguments = pointers_to(start_.arguments);
  const std::vector<char *> environment = pointers_to(start_.environment);
  std::vector<int> kept = start_.inherited;
  kept.push_back(child_end.get());
  std::ranges::sort(kept);
  pid_ = fork_without_signals({start_.program.c_str(), start_.directory.c_str(), arguments.data(),
                               environment.data(), input.get(), log.get(), child_end.get(), kept});
}

void HeldProcess::go() {
  const Fd channel = std::move(channel_);
  if (send(channel.get(), "", 1, MSG_NOSIGNAL) != 1) return;
  Failure failure{};
  ssize_t got = 0;
  do {
    got = recv(channel.get(), &failure, sizeof failure, MSG_WAITALL);
  } while (got < 0 && errno == EINTR);
  // execve(2) closes the other end.
  if (got != sizeof failure) return;
  if (failure.step == Failure::directory)
    OsFailure{failure.os_errno}.raise("starting in '" + start_.directory.string() + "'");
  throw_not_started(failure.os_errno, start_.program);
}

}  // namespace det::launcher
