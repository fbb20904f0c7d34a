// The ranks of a job over MPI. Link with libdetcore-mpi beside libdetcore.
#pragma once

#include <det/mpi.h>
#include <det/distributed.hpp>

namespace det {
inline namespace v1 {

// Collective over the communicator, which is duplicated. Release the result before MPI_Finalize().
[[nodiscard]] inline Distributed distributed_from_mpi(MPI_Comm communicator, OnFailure on = {}) {
  det_distributed_context *distributed = nullptr;
  detail::call(on, det_distributed_from_mpi, communicator, &distributed);
  return Distributed(distributed);
}

[[nodiscard]] inline Distributed distributed_from_mpi_world(OnFailure on = {}) {
  det_distributed_context *distributed = nullptr;
  detail::call(on, det_distributed_from_mpi_world, &distributed);
  return Distributed(distributed);
}

}  // namespace v1
}  // namespace det
