// What keeps a configuration from being run.
#pragma once

#include "core/base/json_fwd.h"
#include "core/config/experiment/check.h"
#include "core/engine/experiment.h"
#include "core/launcher/launcher.h"
#include "core/search/search.h"

namespace det::launcher {

// On any machine: `config` is complete.
void check_runnable(config::ConfigChecker &checker, const Json &config, search::SearchRules rules);

// Here. Throws for what cannot be run: trials that need more slots than there are, a pattern of the
// log policies that is none (Code::invalid), a command that cannot be started (Code::not_found,
// Code::access), a trial in Python that is not there (Code::invalid) or cannot be run
// (Code::unsupported).
void require_runnable(const Json &config, const engine::LaunchPlan &plan, const Launcher &launcher);

}  // namespace det::launcher
