#pragma once

#include <memory>
#include <vector>

#include "core/profiler/gpu.h"

namespace det::profiler {

// AMD's GPUs, as the amdgpu driver shows them below /sys/class/drm. Each is named as ROCm names it
// (GPU-, and its unique_id), or where it has none by its place on the bus (0000:03:00.0).
std::vector<std::unique_ptr<Sampler>> find_amd_gpus(const Machine &machine);

}  // namespace det::profiler
