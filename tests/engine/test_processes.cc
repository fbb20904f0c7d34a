// Eight processes at one store: nothing of what any of them records is lost.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/engine/suite.h"

namespace det::test {
namespace {

constexpr int processes = 8;
constexpr int64_t reports = 40;

void train(const World &world, int number) {
  auto run = world.start();
  for (int64_t step = 1; step <= reports; ++step)
    deliver(*run, {validation(static_cast<uint64_t>(step), step, 1.0 / static_cast<double>(step))});
  run->checkpoints().report(checkpoint("of" + std::to_string(number), reports));
  run->operations().complete(10, {{"loss", 0.1}});
  run->end(engine::RunExit::ok);
}

void eight_processes_lose_nothing(const World &world) {
  std::vector<pid_t> children;
  for (int number = 0; number < processes; ++number) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      try {
        train(world, number);
        _exit(0);
      } catch (const std::exception &e) {
        print_message("# process %d: %s\n", number, e.what());
        _exit(1);
      }
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
  }
  engine::Engine engine = world.engine();
  const Json trials = engine.trials().list(0, {}).at("trials");
  assert_equal(trials.size(), static_cast<size_t>(processes));
  for (const Json &trial : trials) {
    assert_equal(trial.at("state").get<std::string>(), "COMPLETED");
    assert_equal(trial.at("steps_completed").get<int64_t>(), reports);
    const Json list =
        parse_json(engine.metrics().text(trial.at("id").get<int64_t>(), {}, {}), "metrics");
    assert_equal(list.at("metrics").size(), static_cast<size_t>(reports));
  }
  assert_equal(engine.checkpoints().list(0, {}).at("checkpoints").size(),
               static_cast<size_t>(processes));
}

}  // namespace
}  // namespace det::test

int test_processes() {
  using namespace det::test;
  return run_over_stores("processes", {behaviour(eight_processes_lose_nothing)});
}
