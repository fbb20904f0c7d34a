#include "core/profiler/samplers.h"

namespace det::profiler {

std::vector<std::unique_ptr<Sampler>> make_machine_samplers(const Machine &machine) {
  std::vector<std::unique_ptr<Sampler>> samplers;
  samplers.push_back(make_cpu_sampler(machine));
  samplers.push_back(make_memory_sampler(machine));
  samplers.push_back(make_disk_sampler(machine));
  samplers.push_back(make_network_sampler(machine));
  if (machine.process != 0) samplers.push_back(make_process_sampler(machine));
  if (auto pressure = make_pressure_sampler(machine)) samplers.push_back(std::move(pressure));
  return samplers;
}

}  // namespace det::profiler
