#pragma once

#include "core/base/json_fwd.h"
#include "core/journal/dead_ranks.h"

namespace det::client {

// As docs/client.md has the answer of det_client_sync().
Json to_json(const journal::Recovery &recovery);

}  // namespace det::client
