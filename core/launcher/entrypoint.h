// How a configuration says that its trials are started: `entrypoint`.
#pragma once

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

// Throws for the command of a trial in Python that cannot be started from the working directory:
// no Python or no detcore there (Code::unsupported), no such module or class (Code::invalid).
// Nothing of the trial is run. Blocks, for a fraction of a second. Other commands pass.
void require_python_trial(const TrialLaunch &launch);

}  // namespace det::launcher
