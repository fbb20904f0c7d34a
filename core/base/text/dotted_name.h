// Values in nested objects by one name: "optimizer.lr" is that of "lr" in the object "optimizer".
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/base/json_fwd.h"

namespace det {

// A key that has the dots itself is found first. Null when there is none.
const Json *find_by_dotted_name(const Json &object, std::string_view name);

// Calls `take` with each value that is no object, or an empty one.
using TakeDotted = std::function<void(const std::string &name, const Json &value)>;
void each_dotted_name(const Json &object, const TakeDotted &take);

}  // namespace det
