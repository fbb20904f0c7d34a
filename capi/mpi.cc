#include <det/mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "capi/mpi_transport.h"

namespace {

det_status fail(det_error *err, det_status code, const char *message) {
  if (err == nullptr) return code;
  // As much as the caller's struct has, which may be that of an older release.
  const size_t size = err->struct_size == 0 ? sizeof *err : std::min(err->struct_size, sizeof *err);
  if (size < offsetof(det_error, message)) return code;
  det_error said = DET_ERROR_INIT;
  said.struct_size = err->struct_size;
  said.code = code;
  std::snprintf(said.message, size - offsetof(det_error, message), "%s", message);
  std::memcpy(err, &said, size);
  return code;
}

}  // namespace

det_status det_distributed_from_mpi(MPI_Comm comm, det_distributed_context **out,
                                    det_error *err) noexcept {
  if (out == nullptr) return fail(err, DET_E_INVALID, "out must not be NULL");
  *out = nullptr;
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0)
    return fail(err, DET_E_STATE,
                "joining a job over MPI: MPI was finalised; make the handle before that");
  if (comm == MPI_COMM_NULL)
    return fail(err, DET_E_INVALID, "joining a job over MPI: comm is MPI_COMM_NULL");
  try {
    const MpiSession session;  // before any question about comm
    int between_groups = 0;
    MPI_Comm_test_inter(comm, &between_groups);
    if (between_groups != 0)
      return fail(err, DET_E_INVALID,
                  "joining a job over MPI: comm is an intercommunicator; merge it first");
    auto transport = std::make_unique<MpiTransport>(comm);
    const det_distributed_options options = transport->options();
    const det_communicator_functions functions = transport->functions();
    return det_distributed_from_functions(&options, &functions, transport.release(), out, err);
  } catch (const std::bad_alloc &) {
    return fail(err, DET_E_NOMEM, "joining a job over MPI: out of memory");
  } catch (const std::exception &e) {
    return fail(err, DET_E_UNAVAILABLE, e.what());
  }
}

det_status det_distributed_from_mpi_world(det_distributed_context **out, det_error *err) noexcept {
  return det_distributed_from_mpi(MPI_COMM_WORLD, out, err);
}
