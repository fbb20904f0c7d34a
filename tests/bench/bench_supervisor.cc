// What a trial costs a search with its record in the store, at the start of an experiment and
// behind 100,000 trials. For each method two lines: how many trials are there, and medians in
// seconds of
// - a decision: a completed operation is heard, decided about and recorded,
// - the supervisor's work: that, the end of the trial and the start of the next,
// - the whole cycle: that, and the records of the trial itself, whose result is synced.
//   bench_supervisor [TRIALS]
#include <cstdio>
#include <cstdlib>

#include "tests/bench/measure.h"
#include "tests/launcher/experiment.h"

namespace {

using namespace det;
using namespace det::test;
using bench::now_ns;

double median_seconds(std::vector<int64_t> &times) {
  return static_cast<double>(bench::distribution(times).median) / 1e9;
}

void print_cycles(const char *method, Experiment &experiment, int count) {
  std::vector<int64_t> decisions, supervision, cycles;
  const int64_t behind = experiment.count("SELECT MAX(id) FROM trials");
  for (int i = 0; i < count; ++i) {
    const int64_t begin = now_ns();
    if (!experiment.trials().advance()) bench::die("the search has ended");
    const int64_t told = now_ns();
    experiment.supervisor().step();
    const int64_t decided = now_ns();
    experiment.trials().hear();
    const int64_t left = now_ns();
    experiment.supervisor().step();
    const int64_t end = now_ns();
    decisions.push_back(decided - told);
    supervision.push_back(decided - told + end - left);
    cycles.push_back(end - begin);
  }
  std::printf("%-8s %8lld %.6f %.6f %.6f\n", method, static_cast<long long>(behind),
              median_seconds(decisions), median_seconds(supervision), median_seconds(cycles));
  std::fflush(stdout);
}

void measure(const char *method, const Json &searcher, int64_t trials) {
  constexpr int some = 400;
  Experiment experiment(configuration(searcher), 1);
  experiment.behave([](Behaviour &trials) {
    trials.metric = [](int64_t id, uint64_t length) {
      return static_cast<double>(id * 7919 % 1'000'003) / static_cast<double>(length + 1);
    };
  });
  experiment.supervise().change_state(engine::state::active);
  print_cycles(method, experiment, some);
  while (experiment.count("SELECT MAX(id) FROM trials") < trials)
    for (int i = 0; i < 1000; ++i) experiment.advance();
  print_cycles(method, experiment, some);
}

}  // namespace

int main(int argc, char **argv) {
  const int64_t trials = argc > 1 ? std::atoll(argv[1]) : 100'000;
  measure(
      "random",
      searcher("random",
               {{"max_trials", trials + 2000}, {"max_concurrent_trials", 1}, {"max_length", 1}}),
      trials);
  measure("asha",
          searcher("async_halving", {{"num_rungs", 3},
                                     {"divisor", 4},
                                     {"max_trials", 2 * trials + 2000},
                                     {"max_concurrent_trials", 1},
                                     {"max_length", {{"batches", 16}}},
                                     {"stop_once", true}}),
          trials);
}
