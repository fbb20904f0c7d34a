// What people may do to experiments and trials.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/json_fwd.h"

namespace det::engine {

class Store;

// Same numbers as DET_CLIENT_* in include/det/client.h.
enum class Target : int { experiment = 1, trial = 2 };
enum class Action : int { pause = 1, activate = 2, cancel = 3, kill = 4 };

std::string action_name(Action action);  // for messages: "pausing"

// Carries it out on what a store has. Used by any thread.
class Control {
 public:
  explicit Control(Store &store) : store_(store) {}

  // {"state", "signalled", "resume", "resume_note"}
  Json act(Target target, int64_t id, Action action);

 private:
  Json act_on_programs(Target target, int64_t id, Action action);
  Json act_on_supervised(Target target, int64_t id, int64_t experiment_id, Action action);

  Store &store_;
};

}  // namespace det::engine
