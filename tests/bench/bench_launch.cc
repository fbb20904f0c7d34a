// bench_launch [ROUNDS]: how long a trial's process takes to be there, from the wish for it until
// its first instruction of its own, and again until it is gone and that is known. Against
// posix_spawn(3) and system(3), which keep no process waiting, give it no session and no log, and
// leave what it started behind.
//
// Started with "--child FD" this program is such a process: it sends the time.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "core/launcher/local/local_launcher.h"
#include "tests/bench/measure.h"
#include "tests/bench/row.h"
#include "tests/temporary_directory.h"

namespace {

using bench::die;
using bench::now_ns;

// The time a child sends by a named pipe: the launcher closes all other files.
int child(const char *pipe) {
  const int64_t now = now_ns();
  const int fd = open(pipe, O_WRONLY);
  return write(fd, &now, sizeof now) == sizeof now ? 0 : 1;
}

struct Times {
  std::vector<int64_t> first, whole;  // to the first instruction, and until the end is known
};

class Bench {
 public:
  Times launched, spawned, by_shell;

  explicit Bench(const char *self) : self_(std::filesystem::canonical(self)) {
    if (mkfifo(pipe_.c_str(), 0600) != 0) die("making a pipe");
    fd_ = open(pipe_.c_str(), O_RDWR | O_CLOEXEC);
  }

  void launch() {
    const int64_t begin = now_ns();
    launcher_.prepare({1, 1, 1, {self_, "--child", pipe_}, {}, directory_.path(), log_});
    launcher_.go(1);
    launched.first.push_back(first_instruction() - begin);
    while (launcher_.take_exits().empty()) {
      pollfd news{launcher_.exit_fd(), POLLIN, 0};
      poll(&news, 1, -1);
    }
    launched.whole.push_back(now_ns() - begin);
  }

  void spawn() {
    const char *arguments[] = {self_.c_str(), "--child", pipe_.c_str(), nullptr};
    const int64_t begin = now_ns();
    pid_t pid = 0;
    if (posix_spawn(&pid, self_.c_str(), nullptr, nullptr, const_cast<char **>(arguments),
                    environ) != 0)
      die("posix_spawn");
    spawned.first.push_back(first_instruction() - begin);
    waitpid(pid, nullptr, 0);
    spawned.whole.push_back(now_ns() - begin);
  }

  void shell() {
    const std::string command = self_ + " --child " + pipe_;
    const int64_t begin = now_ns();
    if (std::system(command.c_str()) != 0) die("system");
    by_shell.whole.push_back(now_ns() - begin);
    by_shell.first.push_back(first_instruction() - begin);
  }

  struct Medians {
    double first, whole;  // seconds
  };
  static Medians report(const char *name, Times &times) {
    const bench::Distribution first = bench::distribution(times.first);
    const bench::Distribution whole = bench::distribution(times.whole);
    bench::print((std::string(name) + ", first instruction").c_str(), first);
    bench::print((std::string(name) + ", until its end is known").c_str(), whole);
    return {static_cast<double>(first.median) / 1e9, static_cast<double>(whole.median) / 1e9};
  }

 private:
  int64_t first_instruction() const {
    int64_t time = 0;
    if (read(fd_, &time, sizeof time) != sizeof time) die("reading the child's time");
    return time;
  }

  const det::TemporaryDirectory directory_;
  const std::string self_;
  const std::string pipe_ = directory_ / "pipe";
  const std::string log_ = directory_ / "log";
  int fd_ = -1;
  det::launcher::LocalLauncher launcher_{det::launcher::Slots(1)};
};

}  // namespace

int main(int argc, char **argv) {
  if (argc == 3 && std::strcmp(argv[1], "--child") == 0) return child(argv[2]);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 300;
  Bench bench(argv[0]);
  std::printf("%d processes each; ns      %30s %9s %11s\n", rounds, "median", "p99", "max");
  for (int i = 0; i < rounds; ++i) {
    bench.launch();
    bench.spawn();
    bench.shell();
  }
  const Bench::Medians ours = Bench::report("prepare, go", bench.launched);
  const auto compare = [&](const char *rival, Times &times) {
    const Bench::Medians theirs = Bench::report(rival, times);
    bench_row("start of a process, to its first instruction", ours.first, rival, theirs.first, "s",
              0);
    bench_row("start of a process, until its end is known", ours.whole, rival, theirs.whole, "s",
              0);
  };
  compare("posix_spawn", bench.spawned);
  compare("system", bench.by_shell);
  return 0;
}
