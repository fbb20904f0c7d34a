#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/profiler/gpu.h"
#include "core/profiler/rate.h"

namespace det::profiler {

// As its samplers share it.
struct NvidiaDevice {
  Nvml::Device handle;
  std::string uuid;
  bool is_gone = false;
};

// One NVIDIA GPU, or one MIG device. What it does not offer is asked once and left out from then
// on. A call that fails leaves out its own figures, which sample() throws after it has taken the
// others; at once, with Code::unsupported, when the GPU is gone.
class NvidiaGpu : public Sampler {
 public:
  using IsOfTrial = std::function<bool(pid_t process)>;

  NvidiaGpu(std::shared_ptr<const Nvml> nvml, std::shared_ptr<NvidiaDevice> device,
            IsOfTrial is_of_trial);

  std::string_view group() const override { return "gpu"; }
  void sample(Clock::time_point now, Batch &batch) override;

 private:
  // Adds what it is told; gives what NVML answers.
  using Ask = Nvml::Result (NvidiaGpu::*)(Clock::time_point now, Batch &batch);
  struct Probe {
    const char *call;
    Ask ask;
    bool worked = false, offered = true;
  };

  Nvml::Result utilization(Clock::time_point now, Batch &batch);
  Nvml::Result memory(Clock::time_point now, Batch &batch);
  Nvml::Result power(Clock::time_point now, Batch &batch);
  Nvml::Result temperature(Clock::time_point now, Batch &batch);
  Nvml::Result clock(Clock::time_point now, Batch &batch);
  Nvml::Result trial_memory(Clock::time_point now, Batch &batch);
  Nvml::Result nvlink(Clock::time_point now, Batch &batch);

  const std::shared_ptr<const Nvml> nvml_;
  const std::shared_ptr<NvidiaDevice> device_;
  const IsOfTrial is_of_trial_;
  bool has_memory_v2_;
  std::vector<Nvml::Process> processes_;
  Rate nvlink_sent_, nvlink_received_;
  std::array<Probe, 7> probes_;
};

}  // namespace det::profiler
