// The header for programs that use MPI themselves, to be compiled only.
#include <det/core.hpp>
#include <det/mpi.hpp>

det::Core start_over_mpi() {
  static_cast<void>(det::distributed_from_mpi_world());
  return det::Core::init({}, det::distributed_from_mpi(MPI_COMM_WORLD));
}
