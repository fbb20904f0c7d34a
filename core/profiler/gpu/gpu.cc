#include "core/profiler/gpu.h"

#include <utility>

#include "core/profiler/amd_gpu.h"
#include "core/profiler/nvidia_gpus.h"

namespace det::profiler {

std::vector<std::unique_ptr<Sampler>> make_gpu_samplers(const Machine &machine, Logger &log,
                                                        const char *nvml) {
  std::vector<std::unique_ptr<Sampler>> samplers = find_nvidia_gpus(machine, log, nvml);
  for (auto &gpu : find_amd_gpus(machine)) samplers.push_back(std::move(gpu));
  return samplers;
}

}  // namespace det::profiler
