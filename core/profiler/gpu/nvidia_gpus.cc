#include "core/profiler/gpu/nvidia_gpus.h"

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/process/cuda_visible_devices.h"
#include "core/base/process/environment.h"
#include "core/base/text/printable.h"
#include "core/profiler/gpu/gpu.h"
#include "core/profiler/process_tree.h"
#include "core/profiler/rate.h"
#include "core/profiler/samplers.h"
#include "core/profiler/system_file.h"

namespace det::profiler {

namespace {

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

using Result = Nvml::Result;

constexpr size_t usual_processes = 16;

// Answers for a driver that does not know the function.
template <class... Parameters, class... Arguments>
Result ask_driver(Result (*function)(Parameters...), Arguments... arguments) {
  return function != nullptr ? function(arguments...) : Nvml::function_not_found;
}

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

// Whether a process descends from that of the trial, or is it.
class TrialProcess {
 public:
  explicit TrialProcess(const Machine &machine) : machine_(machine) {}
  bool operator()(pid_t process) const;

 private:
  Machine machine_;
};

// 0 where there is none, or it ended meanwhile.
pid_t parent_of(const Machine &machine, pid_t process) try {
  SystemFile stat(machine.proc(std::to_string(process)) / "stat");
  const auto said = ProcessStat::from(stat.read());
  return said ? said->parent : 0;
} catch (const Error &) {
  return 0;
}

bool TrialProcess::operator()(pid_t process) const {
  for (; process > 0; process = parent_of(machine_, process))
    if (process == machine_.process) return true;
  return false;
}

constexpr unsigned text_size = 96;  // of UUIDs and of names; NVML asks for room of this size

struct Gpu {
  NvidiaDevice device;
  std::string model;
  std::vector<NvidiaDevice> migs;
};

class GpuList {
 public:
  GpuList(const Nvml &nvml, Logger &log) : nvml_(nvml), log_(log) {}

  // Those that this process may use.
  std::vector<Gpu> read() const {
    unsigned count = 0;
    if (const Nvml::Result result = nvml_.DeviceGetCount(&count); result != Nvml::success)
      tell("counting the GPUs", "nvmlDeviceGetCount", result);
    std::vector<Gpu> gpus;
    for (unsigned i = 0; i < count; ++i) {
      const std::string name = "GPU " + std::to_string(i);
      Nvml::Device handle = nullptr;
      const Nvml::Result result = nvml_.DeviceGetHandleByIndex(i, &handle);
      if (result == Nvml::no_permission) continue;  // it is another container's, or another job's
      if (result != Nvml::success) tell("finding " + name, "nvmlDeviceGetHandleByIndex", result);
      else if (const auto uuid = uuid_of(handle, name))
        gpus.push_back({{handle, *uuid}, model_of(handle), migs_of(handle, name)});
    }
    return gpus;
  }

 private:
  void tell(const std::string &what, const char *call, Nvml::Result result) const {
    log_.warning(nvml_.failure(what, call, result, Code::unsupported).what(),
                 "; it is not profiled");
  }

  std::optional<std::string> uuid_of(Nvml::Device handle, const std::string &name) const {
    char uuid[text_size] = "";
    const Nvml::Result result = nvml_.DeviceGetUUID(handle, uuid, text_size);
    if (result == Nvml::success) return printable({uuid, strnlen(uuid, text_size)});
    tell("naming " + name, "nvmlDeviceGetUUID", result);
    return std::nullopt;
  }

  std::string model_of(Nvml::Device handle) const {
    char model[text_size] = "";
    if (nvml_.DeviceGetName != nullptr) nvml_.DeviceGetName(handle, model, text_size);
    return {model, strnlen(model, text_size)};
  }

  std::vector<NvidiaDevice> migs_of(Nvml::Device gpu, const std::string &name) const {
    std::vector<NvidiaDevice> migs;
    unsigned most = 0;
    if (nvml_.DeviceGetMaxMigDeviceCount == nullptr ||
        nvml_.DeviceGetMigDeviceHandleByIndex == nullptr ||
        nvml_.DeviceGetMaxMigDeviceCount(gpu, &most) != Nvml::success)
      return migs;
    for (unsigned i = 0; i < most; ++i) {
      Nvml::Device mig = nullptr;  // there are as many as somebody has made
      if (nvml_.DeviceGetMigDeviceHandleByIndex(gpu, i, &mig) != Nvml::success) continue;
      if (const auto uuid = uuid_of(mig, "a MIG device of " + name)) migs.push_back({mig, *uuid});
    }
    return migs;
  }

  const Nvml &nvml_;
  Logger &log_;
};

// Whom CUDA_VISIBLE_DEVICES names.
class Visible {
 public:
  explicit Visible(const std::vector<Gpu> &gpus) : names_(cuda_visible_devices(gpus.size())) {
    // Unless it is told otherwise CUDA begins with the fastest, and NVML goes by the bus.
    const bool same_order =
        environment_variable("CUDA_DEVICE_ORDER") == "PCI_BUS_ID" ||
        std::ranges::all_of(gpus, [&](const Gpu &gpu) { return gpu.model == gpus[0].model; });
    all_ = !same_order && std::ranges::any_of(names_, is_number);
  }

  bool has(size_t number) const {
    return all_ || std::ranges::find(names_, std::to_string(number)) != names_.end();
  }
  bool has(const std::string &uuid) const {
    return std::ranges::any_of(names_, [&](const std::string &name) {
      return !is_number(name) && uuid.starts_with(name);
    });
  }

 private:
  static bool is_number(const std::string &name) { return name[0] >= '0' && name[0] <= '9'; }

  std::vector<std::string> names_;
  bool all_;
};

}  // namespace

std::vector<std::unique_ptr<Sampler>> find_nvidia_gpus(const Machine &machine, Logger &log,
                                                       const char *library) try {
  std::vector<std::unique_ptr<Sampler>> samplers;
  const std::shared_ptr<const Nvml> nvml = Nvml::start(library);
  if (nvml == nullptr) return samplers;
  const std::vector<Gpu> gpus = GpuList(*nvml, log).read();
  const Visible visible(gpus);
  auto pcie = std::make_unique<NvidiaPcie>(nvml);
  const auto add = [&](const NvidiaDevice &found) {
    auto device = std::make_shared<NvidiaDevice>(found);
    samplers.push_back(std::make_unique<NvidiaGpu>(nvml, device, TrialProcess(machine)));
    return device;
  };
  for (size_t i = 0; i < gpus.size(); ++i) {
    const Gpu &gpu = gpus[i];
    const bool whole = visible.has(i) || visible.has(gpu.device.uuid);
    const auto is_shown = [&](const NvidiaDevice &mig) { return whole || visible.has(mig.uuid); };
    // Of a GPU in parts, power and temperature are known of the whole only.
    if (!whole && std::ranges::none_of(gpu.migs, is_shown)) continue;
    pcie->watch(add(gpu.device));
    for (const NvidiaDevice &mig : gpu.migs)
      if (is_shown(mig)) add(mig);
  }
  if (!samplers.empty()) samplers.push_back(std::move(pcie));
  return samplers;
} catch (const Error &e) {
  log.warning(e.what(), "; GPUs of NVIDIA are not profiled");
  return {};
}

}  // namespace det::profiler
