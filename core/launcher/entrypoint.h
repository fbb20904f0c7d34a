// How a configuration says that its trials are started: `entrypoint`.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/launcher/launcher.h"

namespace det::launcher {

// Its command: a list is one, and a text is for a shell, but for module:Class, which names a trial
// of detcore.trial in Python. Empty where there is none. Throws Code::invalid for a text that is
// almost of that form. `python3 -m determined.launch.NAME ...` goes through detcore.compat, which
// has such modules for a Python without determined.
std::vector<std::string> entrypoint_command(const Json &config);

// Lets the programs of one experiment import `determined`, which is detcore there, as it is for
// module:Class: by a folder in PYTHONPATH. Python says where that is, once, if the command may run
// Python at all; in a Python without detcore nothing changes.
class StandIn {
 public:
  // Blocks for a fraction of a second, the first time.
  void add_to(TrialLaunch &launch);

 private:
  std::optional<std::string> folder_;
};

// Throws for the command of a trial in Python that cannot be started from the working directory:
// no Python or no detcore there (Code::unsupported), no such module or class (Code::invalid), no
// answer within the limit (Code::timeout), which is long, since file systems of clusters are slow
// when a Python is read for the first time. Nothing of the trial is run. Blocks, normally for a
// fraction of a second. Other commands pass.
void require_python_trial(const TrialLaunch &launch,
                          std::chrono::milliseconds limit = std::chrono::minutes(10));

}  // namespace det::launcher
