#include "core/profiler/trial_process.h"

#include <optional>
#include <string>

#include "core/base/error.h"
#include "core/profiler/process_tree.h"
#include "core/profiler/system_file.h"

namespace det::profiler {

namespace {

// 0 where there is none, or it ended meanwhile.
pid_t parent_of(const Machine &machine, pid_t process) try {
  SystemFile stat(machine.proc(std::to_string(process)) / "stat");
  const auto said = ProcessStat::from(stat.read());
  return said ? said->parent : 0;
} catch (const Error &) {
  return 0;
}

}  // namespace

bool TrialProcess::operator()(pid_t process) const {
  for (; process > 0; process = parent_of(machine_, process))
    if (process == machine_.process) return true;
  return false;
}

}  // namespace det::profiler
