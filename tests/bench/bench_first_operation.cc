// bench_first_operation TRIAL [TRIALS]: how long after the fork a trial has its first operation in
// its hands, in real experiments whose trials run one after another. Against the first line of a
// Python program without site-packages, which has imported nothing yet. In turns of 20.
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "core/engine/supervision/transitions.h"
#include "core/launcher/local/local_launcher.h"
#include "core/launcher/supervisor.h"
#include "tests/bench/measure.h"
#include "tests/bench/row.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;
using bench::die;
using bench::now_ns;

// Notes when each trial is about to be forked.
class TimedLauncher final : public launcher::Launcher {
 public:
  bool has_room(int slots) const override { return launcher_.has_room(slots); }
  int total_slots() const override { return launcher_.total_slots(); }
  std::string prepare(const launcher::TrialLaunch &launch) override {
    forked_ = now_ns();
    return launcher_.prepare(launch);
  }
  void go(int64_t trial_id) override { launcher_.go(trial_id); }
  void adopt(const launcher::TrialLaunch &, const std::string &) override {}
  void kill(int64_t trial_id) override { launcher_.kill(trial_id); }
  int exit_fd() const override { return launcher_.exit_fd(); }
  std::vector<launcher::LaunchedExit> take_exits() override { return launcher_.take_exits(); }
  int64_t forked() const { return forked_; }

 private:
  launcher::LocalLauncher launcher_{launcher::Slots(1)};
  int64_t forked_ = 0;
};

// The times that children send.
class Pipe {
 public:
  explicit Pipe(std::string path) : path_(std::move(path)) {
    if (mkfifo(path_.c_str(), 0600) != 0) die("making a pipe");
    fd_ = Fd(open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  }
  const std::string &path() const { return path_; }
  int fd() const { return fd_.get(); }
  std::optional<int64_t> take() const {
    int64_t time = 0;
    return read(fd_.get(), &time, sizeof time) == sizeof time ? std::optional(time) : std::nullopt;
  }

 private:
  std::string path_;
  Fd fd_;
};

std::vector<int64_t> first_operations(const std::filesystem::path &store_directory,
                                      const std::string &trial, const Pipe &pipe, int trials) {
  const Json config{
      {"name", "start"},
      {"searcher",
       {{"name", "random"},
        {"metric", "loss"},
        {"max_trials", trials},
        {"max_concurrent_trials", 1},
        {"max_length", {{"batches", 1}}}}},
      {"hyperparameters", {{"x", {{"type", "double"}, {"minval", 0.0}, {"maxval", 1.0}}}}},
      {"reproducibility", {{"experiment_seed", 1}}},
      {"max_restarts", 0}};
  launcher::Supervisor::Options options;
  options.store_directory = store_directory;
  options.log = std::make_shared<Logger>();
  {
    engine::Database store = engine::open_store(store_directory, true, {});
    engine::Transaction transaction(store);
    options.experiment_id = engine::create_experiment(
        store, config, "text", {{trial}, "/", std::nullopt, false, std::nullopt});
    transaction.commit();
  }
  TimedLauncher launcher;
  launcher::Supervisor supervisor(options, launcher);
  if (supervisor.experiment().state == engine::state::paused)
    supervisor.change_state(engine::state::active);
  std::vector<int64_t> times;
  while (!supervisor.ended()) {
    supervisor.step();
    if (const std::optional<int64_t> time = pipe.take()) times.push_back(*time - launcher.forked());
    supervisor.wait(pipe.fd(), std::chrono::milliseconds(1000));
  }
  if (times.size() != static_cast<size_t>(trials)) die("not every trial got its operation");
  return times;
}

std::vector<int64_t> first_lines_of_python(const Pipe &pipe, int count) {
  const std::string program =
      "import os, time; os.write(os.open(os.environ['BENCH_PIPE'], os.O_WRONLY),"
      " time.monotonic_ns().to_bytes(8, 'little'))";
  const char *arguments[] = {"python3", "-S", "-c", program.c_str(), nullptr};
  std::vector<int64_t> times;
  for (int i = 0; i < count; ++i) {
    const int64_t begin = now_ns();
    pid_t pid = 0;
    if (posix_spawn(&pid, "/usr/bin/python3", nullptr, nullptr, const_cast<char **>(arguments),
                    environ) != 0)
      die("starting python3");
    waitpid(pid, nullptr, 0);
    times.push_back(pipe.take().value_or(begin) - begin);
  }
  return times;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc < 2) die("which trial?");
  const int trials = argc > 2 ? std::atoi(argv[2]) : 200;
  const TemporaryDirectory directory;
  const Pipe pipe(directory / "pipe");
  setenv("BENCH_PIPE", pipe.path().c_str(), 1);
  constexpr int a_turn = 20;
  std::vector<int64_t> ours, python;
  const auto add = [](std::vector<int64_t> &all, const std::vector<int64_t> &times) {
    all.insert(all.end(), times.begin(), times.end());
  };
  while (static_cast<int>(ours.size()) < trials) {
    add(ours, first_operations(directory / ".detcore", std::filesystem::canonical(argv[1]), pipe,
                               a_turn));
    add(python, first_lines_of_python(pipe, a_turn));
  }
  std::printf("%zu trials; ns       %30s %9s %11s\n", ours.size(), "median", "p99", "max");
  const bench::Distribution operation = bench::distribution(ours);
  const bench::Distribution line = bench::distribution(python);
  bench::print("fork to the first operation", operation);
  bench::print("posix_spawn to python3's first line", line);
  bench_row("fork of a trial to its first operation", static_cast<double>(operation.median) / 1e9,
            "python3 -S, first line", static_cast<double>(line.median) / 1e9, "s", 0);
  return 0;
}
