// What rules that watch a validation metric have in common.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/json.h"

namespace det::trial {

// Same numbers as DET_MONITOR_* in include/det/trial.h. By its name: whether small values of the
// metric are good.
enum class MonitorMode : int { by_name = 0, min = 1, max = 2 };

// The worst of all values.
double worst(bool smaller_is_better);

// A value of a saved state; `otherwise` where it has none. Throws Code::invalid for another type.
double number_in(const Json &state, const char *key, double otherwise);
int64_t count_in(const Json &state, const char *key, int64_t otherwise);

}  // namespace det::trial
