#include "core/profiler/nvidia_gpus.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "core/base/cuda_visible_devices.h"
#include "core/base/environment.h"
#include "core/base/printable.h"
#include "core/profiler/nvidia_gpu.h"
#include "core/profiler/nvidia_pcie.h"
#include "core/profiler/trial_process.h"

namespace det::profiler {

namespace {

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
