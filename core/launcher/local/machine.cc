#include "core/launcher/local/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/process/cuda_visible_devices.h"

namespace det::launcher {

namespace fs = std::filesystem;

namespace {

std::string text_of(const fs::path &path) {
  try {
    return read_file(path);
  } catch (const Error &) {
    return {};
  }
}

// A container sees every GPU in /proc, and a device only of those it was given.
bool has_device(const fs::path &root, const fs::path &gpu) {
  std::istringstream lines(text_of(gpu / "information"));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("Device Minor:")) continue;
    const size_t digits = line.find_first_of("0123456789");
    return digits != line.npos && fs::exists(root / "dev" / ("nvidia" + line.substr(digits)));
  }
  return true;
}

// Where the driver has no list in /proc: sandboxes and Windows' Linux.
size_t count_by_tool() {
  std::FILE *const list = popen("nvidia-smi -L 2>/dev/null", "re");
  if (list == nullptr) return 0;
  size_t count = 0;
  char line[512];
  while (std::fgets(line, sizeof line, list) != nullptr)
    if (std::string_view(line).starts_with("GPU ")) ++count;
  pclose(list);
  return count;
}

size_t count_gpus(const fs::path &root) {
  const fs::path list = root / "proc/driver/nvidia/gpus";
  if (!fs::exists(list))
    return fs::exists(root / "dev/nvidiactl") || fs::exists(root / "dev/dxg") ? count_by_tool() : 0;
  return static_cast<size_t>(std::ranges::count_if(
      entry_names(list), [&](const std::string &gpu) { return has_device(root, list / gpu); }));
}

// Processors worth of time a control group may use, rounded up; 0 for no limit.
int cores_of(const fs::path &group) {
  std::istringstream text(text_of(group / "cpu.max"));
  int64_t quota = 0, period = 0;
  if (!(text >> quota >> period) || quota <= 0 || period <= 0) return 0;
  return static_cast<int>(std::min<int64_t>((quota + period - 1) / period, 1 << 20));
}

std::string control_group(const fs::path &root) {
  std::istringstream lines(text_of(root / "proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("0::/")) return line.substr(4);
  return {};
}

int cores_by_affinity() {
  // Of a machine with more processors than this the kernel tells nothing.
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return std::max(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), 1);
}

}  // namespace

std::vector<std::string> visible_gpus(const fs::path &root) {
  return cuda_visible_devices(count_gpus(root));
}

int usable_cores(const fs::path &root) {
  int cores = cores_by_affinity();
  const fs::path top = root / "sys/fs/cgroup";
  for (fs::path group = top / control_group(root);; group = group.parent_path()) {
    if (const int limit = cores_of(group); limit > 0) cores = std::min(cores, limit);
    if (group == top || !group.has_relative_path()) return cores;
  }
}

}  // namespace det::launcher
