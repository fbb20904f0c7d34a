// Json by name, for headers that only pass it on.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace det {

using Json = nlohmann::ordered_json;

}  // namespace det
