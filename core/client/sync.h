#pragma once

#include "core/base/json.h"
#include "core/engine/left_behind.h"

namespace det::client {

// As docs/client.md has the answer of det_client_sync().
Json to_json(const engine::Recovery &recovery);

}  // namespace det::client
