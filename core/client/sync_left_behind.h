// Reports for a master that ended processes could not deliver.
#pragma once

#include "core/base/json.h"
#include "core/master/rest/session.h"

namespace det {

// As docs/client.md has the answer of det_client_sync().
Json sync_left_behind(MasterSession &session);

}  // namespace det
