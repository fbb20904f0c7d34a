// The limits that a container, a pod, a job or a service puts on this process, and what is used of
// them: control groups, version 1 or 2.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "core/profiler/samplers.h"
#include "core/profiler/system_file.h"

namespace det::profiler {

// The directories of a controller ("cpu", "memory") that this process is in: its own first, then
// those around it as far as they can be seen. None where there is no such controller.
struct CgroupLevels {
  int version = 0;
  std::vector<std::filesystem::path> directories;
};
CgroupLevels cgroup_levels(const Machine &machine, std::string_view controller);

// The limit that leaves the fewest CPUs.
class CpuLimit {
 public:
  // None where every CPU of the machine (`online`) may be used all the time.
  static std::optional<CpuLimit> find(const Machine &machine, double online);

  double cpus() const { return cpus_; }
  uint64_t used_ns();  // since ever, by all that share the limit

 private:
  CpuLimit(double cpus, int version, SystemFile usage)
      : cpus_(cpus), version_(version), usage_(std::move(usage)) {}

  double cpus_;
  int version_;
  SystemFile usage_;
};

// A limit on memory at one level.
class MemoryLimit {
 public:
  // Those that leave less than the machine has.
  static std::vector<MemoryLimit> find(const Machine &machine, uint64_t total);

  // Bytes, 0 when it is reached. What the kernel takes back first (files not used lately) is free.
  uint64_t free();

 private:
  MemoryLimit(uint64_t limit, int version, const std::filesystem::path &directory);

  uint64_t limit_;
  int version_;
  SystemFile usage_, details_;
};

// The directory whose *.pressure tells of our container alone; none without one.
std::optional<std::filesystem::path> pressure_directory(const Machine &machine);

}  // namespace det::profiler
