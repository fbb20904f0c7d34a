// What people may do to experiments and trials.
#pragma once

#include <string>

namespace det::engine {

// Same numbers as DET_CLIENT_* in include/det/client.h.
enum class Target : int { experiment = 1, trial = 2 };
enum class Action : int { pause = 1, activate = 2, cancel = 3, kill = 4 };

std::string action_name(Action action);  // for messages: "pausing"

}  // namespace det::engine
