// Finds libdetcore-mpi at run time: libdetcore itself knows no MPI.
#pragma once

#include <det/distributed.h>

#include "core/comm/join/launch.h"

using JoinMpiWorld = det_status (*)(det_distributed_context **out, det_error *err);

bool is_mpi_library_there() noexcept;

// det_distributed_from_mpi_world() of the library beside this one, or of the system. Null when it
// is not installed and sockets can serve this launch; throws when they cannot.
JoinMpiWorld load_mpi_library(const det::comm::Launch &launch);
