// NVIDIA's management library, opened at run time: neither it nor its header is needed to build or
// to run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/error.h"

namespace det::profiler {

// Of its functions those that sampling needs, by their names without the version, and what they
// answer and fill. Of a function that a driver is too old for, the pointer is null.
class Nvml {
 public:
  static constexpr const char *library_name = "libnvidia-ml.so.1";

  enum Result : int {
    success = 0,
    uninitialized = 1,
    invalid_argument = 2,
    not_supported = 3,
    no_permission = 4,
    insufficient_size = 7,
    driver_not_loaded = 9,
    function_not_found = 13,
    gpu_is_lost = 15,
    reset_required = 16,
    library_version_mismatch = 18,
    no_data = 21,
    argument_version_mismatch = 25,
    deprecated = 26,
  };
  using Device = void *;

  struct Utilization {
    unsigned gpu, memory;  // percent of the driver's last period, a sixth of a second to one
  };
  struct Memory {
    unsigned long long total, free, used;  // bytes; used: with what the driver keeps for itself
  };
  struct MemoryV2 {
    static constexpr unsigned current_version = 2U << 24U | 40;
    unsigned version;
    unsigned long long total, reserved, free, used;
  };
  static_assert(sizeof(MemoryV2) == 40);
  struct Process {
    unsigned pid;
    unsigned long long used_memory;  // bytes, or `not_known`
    unsigned gpu_instance, compute_instance;
  };
  static constexpr unsigned long long not_known = ~0ULL;
  struct FieldValue {
    static constexpr unsigned narrow_type = 1;
    unsigned field, scope;
    long long timestamp, latency_us;
    unsigned type;  // of `value`: `narrow_type` or a wide one
    Result result;
    union {
      unsigned narrow;
      unsigned long long wide;
    } value;

    uint64_t count() const { return type == narrow_type ? value.narrow : value.wide; }
  };
  static_assert(sizeof(FieldValue) == 40);

  static constexpr unsigned temperature_gpu = 0, clock_sm = 1;
  static constexpr unsigned pcie_sent = 0, pcie_received = 1;
  // Counters in KiB since the driver was loaded, and the scope that sums over a GPU's links.
  static constexpr unsigned nvlink_sent = 138, nvlink_received = 139, all_links = ~0U;

  // Loads and starts it, which may take seconds. Null where this machine has no such driver. Throws
  // Code::unsupported, with NVML's own words, where it has one that does not work.
  static std::shared_ptr<const Nvml> start(const char *library = library_name);
  Nvml(const Nvml &) = delete;
  Nvml &operator=(const Nvml &) = delete;
  ~Nvml();

  // Not offered, now and later. Of some devices (MIG, or shared with others) one figure is refused
  // as if something were wrong with the question: of one that `worked` something is.
  static bool is_refusal(Result result, bool worked);
  // The GPU answers no more.
  static bool is_gone(Result result);

  // The error of a call that did not succeed: "what: call answers 15 (GPU is lost)".
  Error failure(const std::string &what, const char *call, Result result, Code code) const;

  const char *(*ErrorString)(Result result) = nullptr;
  Result (*Init)() = nullptr;
  Result (*Shutdown)() = nullptr;
  Result (*DeviceGetCount)(unsigned *count) = nullptr;
  Result (*DeviceGetHandleByIndex)(unsigned index, Device *device) = nullptr;
  Result (*DeviceGetUUID)(Device device, char *uuid, unsigned size) = nullptr;
  Result (*DeviceGetName)(Device device, char *name, unsigned size) = nullptr;
  Result (*DeviceGetMaxMigDeviceCount)(Device device, unsigned *count) = nullptr;
  Result (*DeviceGetMigDeviceHandleByIndex)(Device device, unsigned index, Device *mig) = nullptr;
  Result (*DeviceGetUtilizationRates)(Device device, Utilization *utilization) = nullptr;
  Result (*DeviceGetMemoryInfo)(Device device, Memory *memory) = nullptr;
  Result (*DeviceGetMemoryInfo_v2)(Device device, MemoryV2 *memory) = nullptr;
  Result (*DeviceGetPowerUsage)(Device device, unsigned *milliwatts) = nullptr;
  Result (*DeviceGetTemperature)(Device device, unsigned sensor, unsigned *celsius) = nullptr;
  Result (*DeviceGetClockInfo)(Device device, unsigned clock, unsigned *megahertz) = nullptr;
  Result (*DeviceGetComputeRunningProcesses)(Device device, unsigned *count,
                                             Process *processes) = nullptr;
  Result (*DeviceGetFieldValues)(Device device, int count, FieldValue *values) = nullptr;
  // Watches the bus for 20 ms. KB/s.
  Result (*DeviceGetPcieThroughput)(Device device, unsigned counter,
                                    unsigned *throughput) = nullptr;

 private:
  Nvml() = default;
  bool started_ = false;
};

}  // namespace det::profiler
