#include "core/client/sync_left_behind.h"

namespace det {

Json sync_left_behind(MasterSession &) { return {{"spools", Json::array()}, {"busy", 0}}; }

}  // namespace det
