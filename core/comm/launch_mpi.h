// Jobs started by MPI's launchers, recognised before MPI itself is there to ask.
#pragma once

#include <optional>

#include "core/comm/launch.h"

namespace det::comm {

// Nothing when no MPI launcher left its variables. Throws as launch_from_environment().
std::optional<Launch> launch_from_mpi();

}  // namespace det::comm
