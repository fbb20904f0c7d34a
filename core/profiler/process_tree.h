// A process and its descendants.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/profiler/sampler.h"
#include "core/profiler/system_file.h"

namespace det::profiler {

// What /proc/PID/stat says.
struct ProcessStat {
  std::string_view command;
  pid_t parent = 0;
  uint64_t ticks = 0;      // on a CPU, its threads together
  uint64_t all_ticks = 0;  // those of children that it has waited for included
  uint64_t threads = 0;
  uint64_t resident_pages = 0;

  // None for text that does not look like it.
  static std::optional<ProcessStat> from(std::string_view text);
};

class ProcessTree {
 public:
  struct Process {
    pid_t id;
    SystemFile stat, io;
    Clock::time_point since;
    bool shows_io = true;  // to us
  };

  ProcessTree(const std::filesystem::path &proc, pid_t root)
      : proc_(proc), root_(root), load_(proc / "loadavg") {}

  // The root first, then its descendants; looks for new ones now and then. Who finds that one is
  // gone takes it out.
  std::vector<Process> &processes(Clock::time_point now);

  // What its stat says; none when it is gone.
  static std::optional<ProcessStat> stat_of(Process &process);

 private:
  std::optional<uint64_t> newest_process();
  void look(Clock::time_point now);

  const std::filesystem::path proc_;
  const pid_t root_;
  SystemFile load_;
  std::vector<Process> processes_;
  std::unordered_set<pid_t> others_;  // are known to be none of ours
  std::optional<Clock::time_point> looked_;
  std::optional<uint64_t> newest_;  // when it looked
};

}  // namespace det::profiler
