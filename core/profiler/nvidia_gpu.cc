#include "core/profiler/nvidia_gpu.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace det::profiler {

namespace {

using Result = Nvml::Result;

constexpr size_t usual_processes = 16;

// Answers for a driver that does not know the function.
template <class... Parameters, class... Arguments>
Result ask_driver(Result (*function)(Parameters...), Arguments... arguments) {
  return function != nullptr ? function(arguments...) : Nvml::function_not_found;
}

}  // namespace

NvidiaGpu::NvidiaGpu(std::shared_ptr<const Nvml> nvml, std::shared_ptr<NvidiaDevice> device,
                     IsOfTrial is_of_trial)
    : nvml_(std::move(nvml)),
      device_(std::move(device)),
      is_of_trial_(std::move(is_of_trial)),
      has_memory_v2_(nvml_->DeviceGetMemoryInfo_v2 != nullptr),
      probes_{{{"nvmlDeviceGetUtilizationRates", &NvidiaGpu::utilization},
               {"nvmlDeviceGetMemoryInfo", &NvidiaGpu::memory},
               {"nvmlDeviceGetPowerUsage", &NvidiaGpu::power},
               {"nvmlDeviceGetTemperature", &NvidiaGpu::temperature},
               {"nvmlDeviceGetClockInfo", &NvidiaGpu::clock},
               {"nvmlDeviceGetComputeRunningProcesses", &NvidiaGpu::trial_memory},
               {"nvmlDeviceGetFieldValues", &NvidiaGpu::nvlink}}} {}

void NvidiaGpu::sample(Clock::time_point now, Batch &batch) {
  std::optional<Error> failed;
  for (Probe &probe : probes_) {
    if (!probe.offered) continue;
    const Result result = (this->*probe.ask)(now, batch);
    if (result == Nvml::success) {
      probe.worked = true;
    } else if (Nvml::is_refusal(result, probe.worked)) {
      probe.offered = false;
    } else if (Nvml::is_gone(result)) {
      device_->is_gone = true;
      throw nvml_->failure(device_->uuid, probe.call, result, Code::unsupported);
    } else if (result != Nvml::no_data && !failed) {
      failed = nvml_->failure(device_->uuid, probe.call, result, Code::io);
    }
  }
  if (failed) throw Error(*failed);
}

Result NvidiaGpu::utilization(Clock::time_point /*now*/, Batch &batch) {
  Nvml::Utilization percent{};
  const Result result = ask_driver(nvml_->DeviceGetUtilizationRates, device_->handle, &percent);
  if (result == Nvml::success) batch.add(device_->uuid, GpuMetrics::util, percent.gpu);
  return result;
}

Result NvidiaGpu::memory(Clock::time_point /*now*/, Batch &batch) {
  const auto add = [&](const auto &memory) {
    batch.add(device_->uuid, GpuMetrics::free_memory, static_cast<double>(memory.free));
    batch.add(device_->uuid, GpuMetrics::used_memory, static_cast<double>(memory.used));
  };
  if (has_memory_v2_) {
    Nvml::MemoryV2 memory{};
    memory.version = Nvml::MemoryV2::current_version;
    const Result result = nvml_->DeviceGetMemoryInfo_v2(device_->handle, &memory);
    if (result == Nvml::success) add(memory);
    has_memory_v2_ = !Nvml::is_refusal(result, false);
    if (has_memory_v2_) return result;
  }
  Nvml::Memory memory{};
  const Result result = ask_driver(nvml_->DeviceGetMemoryInfo, device_->handle, &memory);
  if (result == Nvml::success) add(memory);
  return result;
}

Result NvidiaGpu::power(Clock::time_point /*now*/, Batch &batch) {
  unsigned milliwatts = 0;
  const Result result = ask_driver(nvml_->DeviceGetPowerUsage, device_->handle, &milliwatts);
  if (result == Nvml::success) batch.add(device_->uuid, GpuMetrics::power, milliwatts / 1e3);
  return result;
}

Result NvidiaGpu::temperature(Clock::time_point /*now*/, Batch &batch) {
  unsigned celsius = 0;
  const Result result =
      ask_driver(nvml_->DeviceGetTemperature, device_->handle, Nvml::temperature_gpu, &celsius);
  if (result == Nvml::success) batch.add(device_->uuid, GpuMetrics::temperature, celsius);
  return result;
}

Result NvidiaGpu::clock(Clock::time_point /*now*/, Batch &batch) {
  unsigned megahertz = 0;
  const Result result =
      ask_driver(nvml_->DeviceGetClockInfo, device_->handle, Nvml::clock_sm, &megahertz);
  if (result == Nvml::success) batch.add(device_->uuid, GpuMetrics::clock, megahertz);
  return result;
}

Result NvidiaGpu::trial_memory(Clock::time_point /*now*/, Batch &batch) {
  unsigned count = 0;
  Result result = Nvml::insufficient_size;
  for (int tries = 0; result == Nvml::insufficient_size && tries < 3; ++tries) {
    // Told of half of the room: some drivers of release 535 write entries of up to twice the size.
    processes_.resize(std::max({processes_.size(), 2 * usual_processes, size_t{4} * count}));
    count = static_cast<unsigned>(processes_.size() / 2);
    result = ask_driver(nvml_->DeviceGetComputeRunningProcesses, device_->handle, &count,
                        processes_.data());
  }
  if (result == Nvml::insufficient_size) return Nvml::no_data;  // there are ever more of them
  if (result != Nvml::success) return result;
  // Where none is listed nothing is known: a container is not always shown its processes.
  std::optional<double> sum;
  for (size_t i = 0; i < std::min<size_t>(count, processes_.size()); ++i) {
    const Nvml::Process &process = processes_[i];
    if (process.used_memory != Nvml::not_known && is_of_trial_(static_cast<pid_t>(process.pid)))
      sum = sum.value_or(0) + static_cast<double>(process.used_memory);
  }
  if (sum) batch.add(device_->uuid, GpuMetrics::trial_memory, *sum);
  return Nvml::success;
}

Result NvidiaGpu::nvlink(Clock::time_point now, Batch &batch) {
  Nvml::FieldValue values[2]{};
  values[0].field = Nvml::nvlink_sent;
  values[1].field = Nvml::nvlink_received;
  for (Nvml::FieldValue &value : values) value.scope = Nvml::all_links;
  const Result result = ask_driver(nvml_->DeviceGetFieldValues, device_->handle, 2, &values[0]);
  if (result != Nvml::success) return result;
  const auto add = [&](const Nvml::FieldValue &value, Rate &rate, std::string_view metric) {
    if (value.result != Nvml::success) return;
    if (const auto kib = rate.of(value.count(), now)) batch.add(device_->uuid, metric, *kib * 1024);
  };
  add(values[0], nvlink_sent_, GpuMetrics::nvlink_sent);
  add(values[1], nvlink_received_, GpuMetrics::nvlink_received);
  return values[0].result;
}

}  // namespace det::profiler
