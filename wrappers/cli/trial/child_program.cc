#include "wrappers/cli/trial/child_program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "core/base/error.h"
#include "core/base/process/environment.h"
#include "core/base/process/pidfd.h"
#include "core/launcher/program.h"
#include "wrappers/cli/exit_code.h"

namespace det::cli {

namespace {

constexpr std::array passed_signals = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

// As shells and env(1) tell that a command was not found, or could not be run.
constexpr auto not_found = static_cast<ExitCode>(127);
constexpr auto not_executable = static_cast<ExitCode>(126);

std::vector<std::string> environment_with(const std::map<std::string, std::string> &variables) {
  std::vector<std::string> all;
  for (char **entry = environ; *entry; ++entry) {
    const std::string variable = *entry;
    if (!variables.contains(variable.substr(0, variable.find('=')))) all.push_back(variable);
  }
  for (const auto &[name, value] : variables) all.push_back(name + "=" + value);
  return all;
}

std::vector<char *> c_strings(std::vector<std::string> &texts) {
  std::vector<char *> pointers;
  for (std::string &text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// In the child; what it says over `failure` is why there is no program.
[[noreturn]] void become(const char *program, char *const *arguments, char *const *environment,
                         pid_t parent, int failure) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) sigaction(number, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == parent) execve(program, arguments, environment);
  const int os_errno = errno;
  [[maybe_unused]] const ssize_t sent = write(failure, &os_errno, sizeof os_errno);
  _exit(127);
}

}  // namespace

ChildProgram::ChildProgram(std::vector<std::string> command) : command_(std::move(command)) {
  try {
    program_ = launcher::find_program(command_.at(0), environment_variable("PATH"),
                                      std::filesystem::current_path());
  } catch (const Error &error) {
    throw Failure(error.code == Code::not_found ? not_found : not_executable, error.what());
  }
  sigset_t mask;
  sigemptyset(&mask);
  for (const int signal : passed_signals) sigaddset(&mask, signal);
  sigprocmask(SIG_BLOCK, &mask, nullptr);
  signals_ = Fd(signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC));
}

void ChildProgram::start(const std::map<std::string, std::string> &variables) {
  std::vector<std::string> environment = environment_with(variables);
  const std::vector<char *> arguments = c_strings(command_), assignments = c_strings(environment);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    OsFailure{errno}.raise("starting '" + program_.string() + "'");
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0)
    become(program_.c_str(), arguments.data(), assignments.data(), parent, writing.get());
  if (pid_ < 0) OsFailure{errno}.raise("starting '" + program_.string() + "'");
  process_ = open_process(pid_);
  writing = Fd();
  int os_errno = 0;
  if (read(reading.get(), &os_errno, sizeof os_errno) != sizeof os_errno) return;
  wait();
  try {
    launcher::throw_not_started(os_errno, program_);
  } catch (const Error &error) {
    throw Failure(not_executable, error.what());
  }
}

int ChildProgram::next_signal() const {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    // What the terminal sends, the program gets itself.
    if (info.ssi_code != SI_KERNEL) return static_cast<int>(info.ssi_signo);
  }
  return 0;
}

void ChildProgram::send(int signal) const { kill(pid_, signal); }

void ChildProgram::wait() {
  while (waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
}

bool ChildProgram::left_with(int status) const {
  return WIFEXITED(status_) && WEXITSTATUS(status_) == status;
}

void ChildProgram::end_likewise() const {
  if (WIFSIGNALED(status_)) {
    const int signal = WTERMSIG(status_);
    const rlimit no_core{};
    setrlimit(RLIMIT_CORE, &no_core);  // the program has left its own
    std::signal(signal, SIG_DFL);
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, signal);
    sigprocmask(SIG_UNBLOCK, &mask, nullptr);
    raise(signal);
  }
  throw Ended{
      static_cast<ExitCode>(WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_))};
}

}  // namespace det::cli
