#include "units.h"

#include <array>
#include <set>

namespace det::cli {

std::string unit_of(const std::string &group, const std::string &name) {
  static const std::set<std::string> groups = {"cpu", "memory",  "disk",     "network",
                                               "gpu", "process", "pressure", "regions"};
  if (!groups.contains(group)) return "";
  const auto has = [&](const char *part) { return name.find(part) != name.npos; };
  if (has("throughput") || name == "io_read" || name == "io_write") return "bytes/s";
  if (has("util") || has("share") || group == "pressure") return "%";
  if (has("iops")) return "1/s";
  if (has("temperature")) return "°C";
  if (has("power")) return "W";
  if (has("clock")) return "MHz";
  if (has("seconds")) return "s";
  if (has("memory") || has("bytes") || has("rss")) return "bytes";
  return "";
}

ScaledUnit scaled_unit(const std::string &unit, double largest) {
  const bool rate = unit == "bytes/s";
  if (unit != "bytes" && !rate) return {unit, 1};
  constexpr std::array names = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t i = 0;
  double size = 1;
  for (; largest / size >= 1024 && i + 1 < names.size(); ++i) size *= 1024;
  return {std::string(names[i]) + (rate ? "/s" : ""), size};
}

}  // namespace det::cli
