// What is measured of a machine, from the files of its kernel.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/profiler/sampler.h"

namespace det::profiler {

// Where its files are; a test has a tree of its own.
struct Machine {
  std::filesystem::path root = "/";
  pid_t process = 0;  // whose descendants are the trial's, itself included

  std::filesystem::path proc(const std::filesystem::path &name) const {
    return root / "proc" / name;
  }
  std::filesystem::path sys(const std::filesystem::path &name) const { return root / "sys" / name; }
};

// Percent of the CPUs that were busy since the last sample: all, or those that a limit leaves us.
std::unique_ptr<Sampler> make_cpu_sampler(const Machine &machine);

// Bytes that can still be had: of the machine, or below the limit on us.
std::unique_ptr<Sampler> make_memory_sampler(const Machine &machine);

// Operations and bytes per second of all whole disks, and how full some file systems are.
std::unique_ptr<Sampler> make_disk_sampler(const Machine &machine);

// Bytes per second of all interfaces.
std::unique_ptr<Sampler> make_network_sampler(const Machine &machine);

// CPU, memory and transfers of a trial's processes.
std::unique_ptr<Sampler> make_process_sampler(const Machine &machine);

// Percent of the time in which something waited for CPU, memory or disks (PSI). Null where the
// kernel does not keep it: that is usual.
std::unique_ptr<Sampler> make_pressure_sampler(const Machine &machine);

// All of them, in the order in which they are reported.
std::vector<std::unique_ptr<Sampler>> make_machine_samplers(const Machine &machine);

}  // namespace det::profiler
