#include "core/comm/cores.h"

#include <sched.h>

#include <algorithm>
#include <cstring>

namespace det::comm {

std::string cores_of_this_process() {
  cpu_set_t cores;
  // Of more cores than that all are taken to be free.
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) std::memset(&cores, 0xff, sizeof cores);
  return {reinterpret_cast<const char *>(&cores), sizeof cores};
}

// Those with the least choice choose first.
bool has_core_for_each(const std::vector<std::string> &ranks) {
  std::vector<cpu_set_t> choices(ranks.size());
  for (size_t i = 0; i < ranks.size(); ++i)
    std::memcpy(&choices[i], ranks[i].data(), std::min(ranks[i].size(), sizeof choices[i]));
  std::ranges::sort(choices, {}, [](const cpu_set_t &cores) { return CPU_COUNT(&cores); });
  cpu_set_t taken{};
  for (const cpu_set_t &choice : choices) {
    int core = 0;
    while (core < CPU_SETSIZE && (!CPU_ISSET(core, &choice) || CPU_ISSET(core, &taken))) ++core;
    if (core == CPU_SETSIZE) return false;
    CPU_SET(core, &taken);
  }
  return true;
}

}  // namespace det::comm
