// Steering what a supervisor runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/json_fwd.h"
#include "core/engine/control.h"
#include "core/engine/store.h"

namespace det::engine {

// The state of an experiment or trial of any kind; empty where there is none.
std::string state_of(Database &store, Target target, int64_t id);

// The experiment with a supervisor that `id` is, or is a trial of.
std::optional<int64_t> supervised_experiment(Database &store, Target target, int64_t id);

// Records what is asked for; the supervisor carries it out. Without one the experiment is only
// prepared for the next, and what is to end at once is ended here. The answer is that of
// Engine::control().
Json control_supervised(Store &store, Target target, int64_t id, Action action);

}  // namespace det::engine
