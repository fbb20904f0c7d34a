// What may become of an experiment that a supervisor runs, and of its trials. Experiments and
// trials of programs that people start themselves have rules of their own: see lifecycle.h.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/engine/lifecycle.h"

namespace det {

bool experiment_may_become(std::string_view from, std::string_view to);
bool trial_may_become(std::string_view from, std::string_view to);

// STOPPING_*: what is left of it is being ended.
bool is_stopping(std::string_view state);

// The terminal state that a stopping one leads to.
std::string_view end_of(std::string_view stopping);

// The following write; the caller holds a transaction.

// Sets the state of an experiment, and with it those of its trials that may become the same; each
// other trial keeps its own. Nothing where it has that state. Throws Code::state, beginning with
// `tried`, where the experiment may not become that.
void set_experiment_state(Database &store, int64_t experiment_id, std::string_view to,
                          const std::string &tried);

// Sets the state of one trial of a supervised experiment. False, and nothing done, where it may not
// become that.
bool set_supervised_trial_state(Database &store, int64_t trial_id, std::string_view to);

}  // namespace det
