// The GPUs of this machine: those of NVIDIA through NVML, those of AMD through /sys.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/base/log/log.h"
#include "core/profiler/gpu/nvml.h"
#include "core/profiler/sampler.h"
#include "core/profiler/samplers.h"

namespace det::profiler {

// What is said of a GPU where its maker tells; the first two are named as on Determined.
struct GpuMetrics {
  static constexpr std::string_view util = "gpu_util";                  // percent of the time
  static constexpr std::string_view free_memory = "gpu_free_memory";    // bytes
  static constexpr std::string_view used_memory = "gpu_used_memory";    // bytes, by everybody
  static constexpr std::string_view trial_memory = "gpu_trial_memory";  // bytes, by the trial
  static constexpr std::string_view power = "gpu_power";                // watts
  static constexpr std::string_view temperature = "gpu_temperature";    // degrees Celsius
  static constexpr std::string_view clock = "gpu_clock";                // MHz, of what computes
  static constexpr std::string_view pcie_sent = "gpu_pcie_throughput_sent";  // bytes per second
  static constexpr std::string_view pcie_received = "gpu_pcie_throughput_recv";
  static constexpr std::string_view nvlink_sent = "gpu_nvlink_throughput_sent";  // of all its links
  static constexpr std::string_view nvlink_received = "gpu_nvlink_throughput_recv";
};

// The samplers of those GPUs that CUDA_VISIBLE_DEVICES shows to this process, with their MIG
// devices, and of all of AMD. Where CUDA may number the GPUs in another order than NVML, all are
// taken. None where there is no GPU; a driver or a GPU that does not work is a warning. May take
// seconds, in which the driver starts.
std::vector<std::unique_ptr<Sampler>> make_gpu_samplers(const Machine &machine, Logger &log,
                                                        const char *nvml = Nvml::library_name);

}  // namespace det::profiler
