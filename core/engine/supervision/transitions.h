// Changes of the states of experiments that a supervisor runs, and of their trials. Those of
// programs that people start themselves have rules of their own: see lifecycle.h.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/engine/runs/lifecycle.h"

namespace det::engine {

// The following write; the caller holds a transaction.

// Sets the state of an experiment, and with it those of its trials that may become the same; each
// other trial keeps its own. Nothing where it has that state. Throws Code::state, beginning with
// `tried`, where the experiment may not become that.
void set_experiment_state(Database &store, int64_t experiment_id, std::string_view to,
                          const std::string &tried);

// Sets the state of one trial of a supervised experiment. False, and nothing done, where it may not
// become that.
bool set_supervised_trial_state(Database &store, int64_t trial_id, std::string_view to);

}  // namespace det::engine
