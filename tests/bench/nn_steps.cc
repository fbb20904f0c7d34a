// Steps of models of the layers engine, for bench_nn.py: nn_steps MODEL BATCH STEPS [BACKEND
// [POLICY]]. A step has ended where the device has, too. Prints the nanoseconds of the median step,
// and of the time from the start of the process' main() to the end of the first; and in KiB what
// the process has had at most, and had as main() began.
#include <fstream>
#include <string>

#include "tests/bench/measure.h"
#include "tests/bench/nn_models.h"

// Of this program: getrusage() tells that of the one that started it where that was larger.
long peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stol(line.substr(6));
  bench::die("/proc/self/status has no VmHWM");
}

int main(int argc, char **argv) try {
  if (argc < 4 || argc > 6) bench::die("nn_steps needs MODEL BATCH STEPS [BACKEND [POLICY]]");
  const long loaded = peak_kib();
  const int64_t begin = bench::now_ns();
  const bench::TrainedCase made = bench::make_trained_case(
      argv[1], std::atoll(argv[2]), {argc > 4 ? argv[4] : "", argc > 5 ? argv[5] : ""});
  const int64_t first = bench::now_ns() - begin;
  const auto steps = bench::measure(static_cast<size_t>(std::atoll(argv[3])), 0,
                                    [&](size_t) { made.model.train_on_batch(made.records); });
  std::printf("%lld %lld %ld %ld\n", static_cast<long long>(steps.median),
              static_cast<long long>(first), peak_kib(), loaded);
} catch (const std::exception &failure) {
  bench::die(failure.what());
}
