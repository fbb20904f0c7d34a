// Samples the GPUs of this machine: sample_gpus COUNT. Prints the microseconds of CPU of a sample.
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "core/profiler/gpu/gpu.h"

namespace {

using namespace det::profiler;

class Sum : public Batch {
 public:
  void add(std::string_view /*label*/, std::string_view /*name*/, double value) override {
    sum += value;
  }
  double sum = 0;
};

double cpu_us() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

}  // namespace

int main(int argc, char **argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 1000;
  det::Logger log;
  const auto samplers = make_gpu_samplers({"/", 1}, log);
  Sum sum;
  const auto sample = [&] {
    for (const auto &sampler : samplers) sampler->sample(Clock::now(), sum);
  };
  sample();  // finds out what there is
  const double begin = cpu_us();
  for (int i = 0; i < count; ++i) sample();
  std::printf("%.3f\n", (cpu_us() - begin) / count);
  return sum.sum > 0 ? 0 : 1;
}
