#include "wrappers/cli/text/ask.h"

#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "wrappers/cli/exit_code.h"

namespace det::cli {

namespace {

volatile sig_atomic_t interrupted = 0;

// The terminal without echo. Signals that would leave it so wait until it is as before.
class Hidden {
 public:
  Hidden() {
    struct sigaction note {};
    note.sa_handler = [](int number) { interrupted = number; };  // and ppoll(2) ends
    sigset_t held;
    sigemptyset(&held);
    for (size_t i = 0; i < signals.size(); ++i) {
      sigaction(signals[i], &note, &actions_[i]);
      sigaddset(&held, signals[i]);
    }
    sigprocmask(SIG_BLOCK, &held, &mask_);
    tcgetattr(STDIN_FILENO, &before_);
    termios hidden = before_;
    hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    hidden.c_lflag |= ECHONL;
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
  }
  Hidden(const Hidden &) = delete;
  Hidden &operator=(const Hidden &) = delete;
  ~Hidden() {
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
    for (size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &actions_[i], nullptr);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
    if (interrupted != 0) raise(interrupted);
  }

  // Returns where there is something to read. Signals come in here only: one that came before is
  // not missed.
  void wait() const {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    while (interrupted == 0 && ppoll(&input, 1, nullptr, &mask_) < 0 && errno == EINTR) {
    }
    if (interrupted != 0)
      throw Failure(ExitCode::io, std::string("reading the answer: ") + std::strerror(EINTR));
  }

 private:
  static constexpr std::array<int, 4> signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  std::array<struct sigaction, signals.size()> actions_{};
  sigset_t mask_{};
  termios before_{};
};

// Byte by byte, so that what follows is left to others.
std::string read_line(const Hidden *hidden) {
  std::string line;
  for (;;) {
    if (hidden != nullptr) hidden->wait();
    char c = 0;
    const ssize_t got = read(STDIN_FILENO, &c, 1);
    if (got == 1 && c == '\n') return line;
    if (got == 1) {
      line += c;
    } else if (got == 0 && !line.empty()) {
      return line;
    } else if (got == 0) {
      throw Failure(ExitCode::usage, "reading the answer: standard input has ended");
    } else if (errno != EINTR) {
      throw Failure(ExitCode::io, std::string("reading the answer: ") + std::strerror(errno));
    }
  }
}

}  // namespace

bool can_ask() { return isatty(STDIN_FILENO) == 1; }

std::string ask(const std::string &question, Echo echo) {
  if (!can_ask()) return read_line(nullptr);
  std::optional<Hidden> hidden;  // before the question: an answer may come at once
  if (echo == Echo::hidden) hidden.emplace();
  std::fputs(question.c_str(), stderr);
  return read_line(hidden ? &*hidden : nullptr);
}

}  // namespace det::cli
