// What a decision of the search costs with its record in the store, at the start of an experiment
// and behind 100,000 trials.
//   bench_supervisor [TRIALS]
#include <cstdio>
#include <cstdlib>

#include "tests/launcher/experiment.h"

namespace {

using namespace det;
using namespace det::test;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Of hearing one completion, deciding, and recording both.
double median_decision(Experiment &experiment, int decisions) {
  std::vector<double> times;
  for (int i = 0; i < decisions; ++i) {
    if (!experiment.trials().advance()) break;
    const auto start = Clock::now();
    experiment.supervisor().step();
    times.push_back(milliseconds_since(start));
    experiment.trials().hear();
    experiment.supervisor().step();
    experiment.trials().hear();
    experiment.supervisor().step();
  }
  std::sort(times.begin(), times.end());
  return times.empty() ? 0 : times[times.size() / 2];
}

void measure(const char *method, const Json &searcher, int64_t trials) {
  Experiment experiment(configuration(searcher), 1);
  experiment.supervise().change_state(engine::state::active);
  const double first = median_decision(experiment, 200);
  while (experiment.count("SELECT MAX(id) FROM trials") < trials)
    for (int i = 0; i < 1000; ++i) experiment.advance();
  const double last = median_decision(experiment, 200);
  std::printf(
      "%-8s decision %.3f ms at the start, %.3f ms behind %ld trials: %.2f x  (budget 1 ms, 2 x)\n",
      method, first, last, static_cast<long>(trials), last / first);
}

}  // namespace

int main(int argc, char **argv) {
  const int64_t trials = argc > 1 ? std::atoll(argv[1]) : 100'000;
  measure(
      "random",
      searcher("random",
               {{"max_trials", trials + 1000}, {"max_concurrent_trials", 1}, {"max_length", 1}}),
      trials);
  measure("asha",
          searcher("async_halving", {{"num_rungs", 3},
                                     {"divisor", 4},
                                     {"max_trials", 2 * trials},
                                     {"max_concurrent_trials", 1},
                                     {"max_length", {{"batches", 16}}},
                                     {"stop_once", true}}),
          trials);
}
