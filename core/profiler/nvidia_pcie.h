#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/profiler/nvidia_gpu.h"

namespace det::profiler {

// The traffic of NVIDIA GPUs on the bus. To tell, NVML watches it for 20 ms in each direction, so
// that after the first sample each asks for one GPU, and repeats what it was told of the others.
class NvidiaPcie : public Sampler {
 public:
  explicit NvidiaPcie(std::shared_ptr<const Nvml> nvml) : nvml_(std::move(nvml)) {}

  void watch(std::shared_ptr<const NvidiaDevice> device) { gpus_.push_back({std::move(device)}); }

  std::string_view group() const override { return "gpu"; }
  void sample(Clock::time_point now, Batch &batch) override;

 private:
  struct Gpu {
    std::shared_ptr<const NvidiaDevice> device;
    std::optional<double> sent = {}, received = {};  // as was last told
    bool worked = false, offered = true;
  };

  void ask(Gpu &gpu) const;

  const std::shared_ptr<const Nvml> nvml_;
  std::vector<Gpu> gpus_;
  size_t next_ = 0;
  bool asked_all_ = false;
};

}  // namespace det::profiler
