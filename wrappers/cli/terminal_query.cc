#include "terminal_query.h"

#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <string_view>

#include "core/base/file.h"

namespace det::cli {

namespace {

constexpr std::chrono::milliseconds answer_limit(1000);
constexpr std::string_view attributes_question = "\x1b[c";
constexpr char interrupt = 3;  // Ctrl-C
constexpr size_t longest_answer = 4096;

// A terminal without echo whose keys come one by one.
class QuietTerminal {
 public:
  explicit QuietTerminal(int terminal) : terminal_(terminal) {
    if (tcgetattr(terminal_, &before_) != 0) return;
    termios quiet = before_;
    // Also without signals: they would end the process with the terminal as it is now.
    quiet.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
    quiet.c_cc[VMIN] = 0;
    quiet.c_cc[VTIME] = 0;
    quiet_ = tcsetattr(terminal_, TCSADRAIN, &quiet) == 0;
  }
  QuietTerminal(const QuietTerminal &) = delete;
  QuietTerminal &operator=(const QuietTerminal &) = delete;
  ~QuietTerminal() {
    if (quiet_) tcsetattr(terminal_, TCSADRAIN, &before_);
  }
  explicit operator bool() const { return quiet_; }

 private:
  int terminal_;
  termios before_{};
  bool quiet_ = false;
};

// `CSI ? ... c` at the end.
bool is_complete(const std::string &answer) {
  if (answer.empty() || answer.back() != 'c') return false;
  const size_t start = answer.rfind("\x1b[?");
  return start != answer.npos &&
         answer.find_first_not_of("0123456789;", start + 3) == answer.size() - 1;
}

std::string read_answer(int terminal) {
  const auto end = std::chrono::steady_clock::now() + answer_limit;
  std::string answer;
  while (!is_complete(answer) && answer.size() < longest_answer) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd ready{terminal, POLLIN, 0};
    if (left.count() <= 0) return "";
    const int count = poll(&ready, 1, static_cast<int>(left.count()));
    if (count < 0 && errno == EINTR) continue;
    char key = 0;
    if (count <= 0 || read(terminal, &key, 1) != 1) return "";
    answer += key;
    if (key == interrupt) return answer;
  }
  return answer;
}

// Who is not in front of the terminal would be stopped by asking.
bool is_in_front(int terminal) {
  const pid_t front = tcgetpgrp(terminal);
  return front < 0 || front == getpgrp();
}

}  // namespace

std::string ask_terminal(const std::string &questions) {
  const char *name = ttyname(STDOUT_FILENO);
  if (!name) return "";
  const Fd terminal(open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal || !is_in_front(terminal.get())) return "";
  std::string answer;
  {
    const QuietTerminal quiet(terminal.get());
    const std::string asked = questions + std::string(attributes_question);
    if (!quiet ||
        write(terminal.get(), asked.data(), asked.size()) != static_cast<ssize_t>(asked.size()))
      return "";
    answer = read_answer(terminal.get());
  }
  if (!answer.empty() && answer.back() == interrupt) raise(SIGINT);
  return answer;
}

}  // namespace det::cli
