// A region against what one writes without the library: two readings of the clock around a phase
// and an addition.
#include <det/core.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "tests/bench/measure.h"

namespace {

using bench::check;

constexpr int repeats = 100'000;
constexpr int rounds = 50;  // the quickest counts: others use this machine as well
constexpr double budget_ns = 50;

class ChronoTimer {
 public:
  explicit ChronoTimer(int64_t &total) : total_(total) {}
  ChronoTimer(const ChronoTimer &) = delete;
  ChronoTimer &operator=(const ChronoTimer &) = delete;
  ~ChronoTimer() {
    total_ += std::chrono::duration_cast<std::chrono::nanoseconds>(
                  std::chrono::steady_clock::now() - begin_)
                  .count();
  }

 private:
  int64_t &total_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

template <class Body>
double ns_each(Body &&body) {
  double quickest = HUGE_VAL;
  for (int round = 0; round < rounds; ++round) {
    const int64_t begin = bench::now_ns();
    for (int i = 0; i < repeats; ++i) body();
    quickest = std::min(quickest, static_cast<double>(bench::now_ns() - begin) / repeats);
  }
  return quickest;
}

}  // namespace

int main() {
  char home[] = "/tmp/bench-regions-XXXXXX";
  if (mkdtemp(home) == nullptr) bench::die("mkdtemp");
  det_error err = DET_ERROR_INIT;
  det_core_options options = DET_CORE_OPTIONS_INIT;
  options.master = home;
  det_core *core = nullptr;
  check(det_core_init(&options, &core, &err), err);
  det_train_context *train = det_core_train(core);
  det_region step = 0, forward = 0;
  check(det_train_name_region(train, "step", &step, &err), err);
  check(det_train_name_region(train, "forward", &forward, &err), err);
  const auto measure_region = [&](det_region region) {
    return ns_each([&] {
      det_train_begin_region(train, region, &err);
      det_train_end_region(train, region, &err);
    });
  };
  measure_region(step);  // the first of the thread makes its memory

  int64_t total = 0;
  const double chrono = ns_each([&] { const ChronoTimer timer(total); });
  const double alone = measure_region(step);
  check(det_train_begin_region(train, step, &err), err);
  const double nested = measure_region(forward);
  check(det_train_end_region(train, step, &err), err);
  std::printf("a region, begin and end: %.1f ns, in another %.1f ns (budget %.0f)\n", alone, nested,
              budget_ns);
  std::printf("std::chrono around the same: %.1f ns; a region takes %.2f x that\n", chrono,
              alone / chrono);
  check(det_core_close(core, DET_OUTCOME_OK, &err), err);
  det_core_free(core);
  std::filesystem::remove_all(home);
  return alone <= budget_ns && nested <= budget_ns ? 0 : 1;
}
