// A region against what one writes without the library: two readings of the clock around a phase
// and an addition.
#include <det/core.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "tests/bench/measure.h"
#include "tests/bench/row.h"

namespace {

using bench::check;

constexpr int repeats = 100'000;
constexpr int rounds = 51;
constexpr double goal = 1.2;

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
double seconds_each(Body &&body) {
  const int64_t begin = bench::now_ns();
  for (int i = 0; i < repeats; ++i) body();
  return static_cast<double>(bench::now_ns() - begin) / 1e9 / repeats;
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
    return seconds_each([&] {
      det_train_begin_region(train, region, &err);
      det_train_end_region(train, region, &err);
    });
  };
  measure_region(step);  // the first of the thread makes its memory

  int64_t total = 0;
  std::vector<double> chrono, alone, nested;
  for (int round = 0; round < rounds; ++round) {
    chrono.push_back(seconds_each([&] { const ChronoTimer timer(total); }));
    alone.push_back(measure_region(step));
    check(det_train_begin_region(train, step, &err), err);
    nested.push_back(measure_region(forward));
    check(det_train_end_region(train, step, &err), err);
  }
  const double rival = bench::median(chrono);
  bench_row("a region, begin and end", bench::median(alone), "std::chrono around the same", rival,
            "s", goal);
  bench_row("a region in another", bench::median(nested), "std::chrono around the same", rival, "s",
            goal);
  check(det_core_close(core, DET_OUTCOME_OK, &err), err);
  det_core_free(core);
  std::filesystem::remove_all(home);
  return 0;
}
