// In what the profiler measures.
#pragma once

#include <string>

namespace det::cli {

// The unit of a metric of one of the profiler's groups, by its last name: "%", "bytes", "bytes/s",
// "1/s", "°C", "W", "MHz", "s"; empty for others.
std::string unit_of(const std::string &group, const std::string &name);

struct ScaledUnit {
  std::string name;  // "MiB"
  double size = 1;   // in the unit itself
};

// For numbers as large as this one.
ScaledUnit scaled_unit(const std::string &unit, double largest);

}  // namespace det::cli
