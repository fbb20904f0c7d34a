#include "core/profiler/nvidia_pcie.h"

namespace det::profiler {

void NvidiaPcie::sample(Clock::time_point /*now*/, Batch &batch) {
  std::optional<Error> failed;
  for (size_t i = 0; i < gpus_.size(); ++i)
    if (!asked_all_ || i == next_) try {
        ask(gpus_[i]);
      } catch (const Error &e) {
        failed = e;
      }
  asked_all_ = true;
  next_ = next_ + 1 < gpus_.size() ? next_ + 1 : 0;
  for (const Gpu &gpu : gpus_) {
    if (gpu.device->is_gone || !gpu.sent || !gpu.received) continue;
    batch.add(gpu.device->uuid, GpuMetrics::pcie_sent, *gpu.sent);
    batch.add(gpu.device->uuid, GpuMetrics::pcie_received, *gpu.received);
  }
  if (failed) throw Error(*failed);
}

void NvidiaPcie::ask(Gpu &gpu) const {
  if (!gpu.offered || gpu.device->is_gone || nvml_->DeviceGetPcieThroughput == nullptr) return;
  gpu.sent = gpu.received = std::nullopt;
  unsigned sent = 0, received = 0;  // KB/s
  Nvml::Result result = nvml_->DeviceGetPcieThroughput(gpu.device->handle, Nvml::pcie_sent, &sent);
  if (result == Nvml::success)
    result = nvml_->DeviceGetPcieThroughput(gpu.device->handle, Nvml::pcie_received, &received);
  if (result == Nvml::success) {
    gpu.worked = true;
    gpu.sent = sent * 1e3;
    gpu.received = received * 1e3;
  } else if (Nvml::is_refusal(result, gpu.worked) || Nvml::is_gone(result)) {
    gpu.offered = false;  // of one that is gone, its own sampler tells
  } else if (result != Nvml::no_data) {
    throw nvml_->failure(gpu.device->uuid, "nvmlDeviceGetPcieThroughput", result, Code::io);
  }
}

}  // namespace det::profiler
