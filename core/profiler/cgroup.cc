#include "core/profiler/cgroup.h"

#include <algorithm>
#include <string>

#include "core/base/error.h"

namespace det::profiler {

namespace fs = std::filesystem;

namespace {

bool has_directory(const fs::path &path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool has_file(const fs::path &path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const size_t end = list.find(',');
    if (list.substr(0, end) == word) return true;
    list.remove_prefix(end == list.npos ? list.size() : end + 1);
  }
  return false;
}

// What /proc/self/cgroup says of a controller; of version 2 for an empty one.
std::optional<std::string> path_of(const Machine &machine, std::string_view controller) try {
  SystemFile file(machine.proc("self/cgroup"));
  std::string_view text = file.read();
  while (!text.empty()) {
    std::string_view line = next_line(text);
    line.remove_prefix(std::min(line.find(':') + 1, line.size()));
    const size_t end = line.find(':');
    if (end == line.npos) continue;
    const std::string_view controllers = line.substr(0, end);
    if (controller.empty() ? controllers.empty() : has_word(controllers, controller))
      return std::string(line.substr(end + 1));
  }
  return std::nullopt;
} catch (const Error &) {
  return std::nullopt;
}

// A container that shares the view of the host is told a path that only the host can see; what is
// mounted there is its own.
std::vector<fs::path> levels_below(const fs::path &mount, const std::string &path) {
  fs::path relative = fs::path(path).lexically_normal().relative_path();
  if (relative.begin() != relative.end() && *relative.begin() == "..") relative.clear();
  if (!has_directory(mount / relative)) relative.clear();
  std::vector<fs::path> levels;
  for (; !relative.empty(); relative = relative.parent_path())
    if (relative.has_filename()) levels.push_back(mount / relative);
  levels.push_back(mount);
  return levels;
}

// "0-3,8" are 5.
double count_cpus(std::string_view list) {
  double count = 0;
  while (!list.empty()) {
    const size_t end = list.find(',');
    const std::string_view range = list.substr(0, end);
    const size_t dash = range.find('-');
    const auto first = number_from(range.substr(0, dash));
    const auto last = dash == range.npos ? first : number_from(range.substr(dash + 1));
    if (first && last && *last >= *first) count += static_cast<double>(*last - *first + 1);
    list.remove_prefix(end == list.npos ? list.size() : end + 1);
  }
  return count;
}

std::optional<double> quota_at(const fs::path &directory, int version) try {
  std::optional<uint64_t> quota, period;
  if (version == 2) {
    SystemFile file(directory / "cpu.max");  // "200000 100000" or "max 100000"
    std::string_view text = file.read();
    quota = next_number(text);
    period = next_number(text);
  } else {
    quota = number_in(directory / "cpu.cfs_quota_us");  // -1 is none
    period = number_in(directory / "cpu.cfs_period_us");
  }
  if (!quota || !period || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
} catch (const Error &) {
  return std::nullopt;
}

std::optional<double> cpuset_at(const fs::path &directory, int version) {
  std::optional<std::string> list =
      word_in(directory / (version == 2 ? "cpuset.cpus.effective" : "cpuset.effective_cpus"));
  if (version == 1 && !list) list = word_in(directory / "cpuset.cpus");
  if (!list || list->empty()) return std::nullopt;
  const double cpus = count_cpus(*list);
  return cpus > 0 ? std::optional(cpus) : std::nullopt;
}

}  // namespace

CgroupLevels cgroup_levels(const Machine &machine, std::string_view controller) {
  const fs::path mount = machine.sys("fs/cgroup");
  const auto of_controller = controller.empty() ? std::nullopt : path_of(machine, controller);
  if (of_controller && has_directory(mount / controller))
    return {1, levels_below(mount / controller, *of_controller)};
  const fs::path unified = has_directory(mount / "unified") ? mount / "unified" : mount;
  if (const auto path = path_of(machine, ""); path && has_file(unified / "cgroup.controllers"))
    return {2, levels_below(unified, *path)};
  return {};
}

std::optional<CpuLimit> CpuLimit::find(const Machine &machine, double online) {
  double fewest = online;
  std::optional<fs::path> usage;
  int version = 0;
  for (const std::string_view controller : {"cpu", "cpuset"}) {
    const CgroupLevels levels = cgroup_levels(machine, controller);
    const CgroupLevels accounts = levels.version == 1 ? cgroup_levels(machine, "cpuacct") : levels;
    for (size_t i = 0; i < levels.directories.size(); ++i) {
      const fs::path &directory = levels.directories[i];
      const auto cpus = controller == "cpu" ? quota_at(directory, levels.version)
                                            : cpuset_at(directory, levels.version);
      // The outermost of equal limits: what is used there is used of all of them.
      if (!cpus || *cpus >= online || *cpus > fewest) continue;
      // In version 1 each controller has a tree; those of one container stand equally far in.
      const size_t from_root = levels.directories.size() - i;
      if (from_root > accounts.directories.size()) continue;
      const fs::path &account = accounts.directories[accounts.directories.size() - from_root];
      const fs::path file = account / (levels.version == 2 ? "cpu.stat" : "cpuacct.usage");
      if (!has_file(file)) continue;
      fewest = *cpus;
      usage = file;
      version = levels.version;
    }
  }
  if (!usage || fewest <= 0) return std::nullopt;
  return CpuLimit(fewest, version, SystemFile(*usage));
}

uint64_t CpuLimit::used_ns() {
  std::string_view text = usage_.read();
  return version_ == 2 ? number_of(text, "usage_usec").value_or(0) * 1000
                       : next_number(text).value_or(0);
}

MemoryLimit::MemoryLimit(uint64_t limit, int version, const fs::path &directory)
    : limit_(limit),
      version_(version),
      usage_(directory / (version == 2 ? "memory.current" : "memory.usage_in_bytes")),
      details_(directory / "memory.stat") {}

std::vector<MemoryLimit> MemoryLimit::find(const Machine &machine, uint64_t total) {
  std::vector<MemoryLimit> limits;
  const CgroupLevels levels = cgroup_levels(machine, "memory");
  for (const fs::path &directory : levels.directories) {
    const auto limit =  // "max" is none, and so is more than there is
        number_in(directory / (levels.version == 2 ? "memory.max" : "memory.limit_in_bytes"));
    if (limit && *limit < total) limits.push_back(MemoryLimit(*limit, levels.version, directory));
  }
  return limits;
}

uint64_t MemoryLimit::free() {
  std::string_view usage = usage_.read();
  const uint64_t used = next_number(usage).value_or(0);
  const uint64_t spare =
      number_of(details_.read(), version_ == 2 ? "inactive_file" : "total_inactive_file")
          .value_or(0);
  const uint64_t taken = used - std::min(used, spare);
  return limit_ - std::min(limit_, taken);
}

std::optional<fs::path> pressure_directory(const Machine &machine) {
  const CgroupLevels levels = cgroup_levels(machine, "");
  if (levels.directories.empty() || !has_file(levels.directories.front() / "cpu.pressure"))
    return std::nullopt;
  return levels.directories.front();
}

}  // namespace det::profiler
