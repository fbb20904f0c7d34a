// Which NVIDIA GPUs there are for this process.
#pragma once

#include <memory>
#include <vector>

#include "core/profiler/gpu/gpu.h"

namespace det::profiler {

// As make_gpu_samplers().
std::vector<std::unique_ptr<Sampler>> find_nvidia_gpus(const Machine &machine, Logger &log,
                                                       const char *nvml);

}  // namespace det::profiler
