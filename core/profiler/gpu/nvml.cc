#include "core/profiler/gpu/nvml.h"

#include <dlfcn.h>

#include <initializer_list>

namespace det::profiler {

namespace {

// The first of these names that the library has.
template <class Function>
void find_function(void *library, std::initializer_list<const char *> names, Function *&function) {
  for (const char *name : names) {
    function = reinterpret_cast<Function *>(dlsym(library, name));
    if (function != nullptr) return;
  }
}

const char *start_remedy(Nvml::Result result) {
  if (result != Nvml::library_version_mismatch) return "; see whether nvidia-smi works";
  return "; the driver was updated under the running system: restart it, or load the driver anew";
}

}  // namespace

#define DET_FIND(name) find_function(library, {"nvml" #name}, nvml->name)
#define DET_FIND_V2(name) find_function(library, {"nvml" #name "_v2", "nvml" #name}, nvml->name)
std::shared_ptr<const Nvml> Nvml::start(const char *name) {
  // Never closed: the driver is not made for that.
  void *const library = dlopen(name, RTLD_NOW);
  if (library == nullptr) return nullptr;
  const std::shared_ptr<Nvml> nvml(new Nvml);
  DET_FIND_V2(Init);
  DET_FIND(Shutdown);
  DET_FIND(ErrorString);
  DET_FIND_V2(DeviceGetCount);
  DET_FIND_V2(DeviceGetHandleByIndex);
  DET_FIND(DeviceGetUUID);
  DET_FIND(DeviceGetName);
  DET_FIND(DeviceGetMaxMigDeviceCount);
  DET_FIND(DeviceGetMigDeviceHandleByIndex);
  DET_FIND(DeviceGetUtilizationRates);
  DET_FIND(DeviceGetMemoryInfo);
  DET_FIND(DeviceGetMemoryInfo_v2);
  DET_FIND(DeviceGetPowerUsage);
  DET_FIND(DeviceGetTemperature);
  DET_FIND(DeviceGetClockInfo);
  // That without a version fills a smaller struct.
  find_function(
      library,
      {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"},
      nvml->DeviceGetComputeRunningProcesses);
  DET_FIND(DeviceGetFieldValues);
  DET_FIND(DeviceGetPcieThroughput);
  if (!nvml->Init || !nvml->Shutdown || !nvml->DeviceGetCount || !nvml->DeviceGetHandleByIndex ||
      !nvml->DeviceGetUUID)
    throw Error(Code::unsupported, std::string("opening ") + name +
                                       ": it lacks functions that every driver since 2012 has; "
                                       "see whether nvidia-smi works");
  const Result result = nvml->Init();
  if (result == driver_not_loaded) return nullptr;  // as in a container on a machine with no GPU
  if (result != success) {
    const Error failed = nvml->failure("starting NVML", "nvmlInit", result, Code::unsupported);
    throw Error(failed.code, std::string(failed.what()) + start_remedy(result));
  }
  nvml->started_ = true;
  return nvml;
}
#undef DET_FIND
#undef DET_FIND_V2

Nvml::~Nvml() {
  if (started_) Shutdown();
}

bool Nvml::is_refusal(Result result, bool worked) {
  if (result == invalid_argument || result == no_permission) return !worked;
  return result == not_supported || result == function_not_found ||
         result == argument_version_mismatch || result == deprecated;
}

bool Nvml::is_gone(Result result) {
  return result == gpu_is_lost || result == reset_required || result == uninitialized;
}

Error Nvml::failure(const std::string &what, const char *call, Result result, Code code) const {
  const char *const words = ErrorString != nullptr ? ErrorString(result) : nullptr;
  return Error(code, what + ": " + call + " answers " + std::to_string(result) + " (" +
                         (words != nullptr ? words : "no reason given") + ")");
}

}  // namespace det::profiler
