// Sums of arrays over all ranks by MPI, several at a time.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

class MpiSums {
 public:
  // Collective. A communicator of their own keeps them apart from other collectives.
  explicit MpiSums(MPI_Comm job);
  // Leaves behind what is not finished.
  ~MpiSums();
  MpiSums(const MpiSums &) = delete;
  MpiSums &operator=(const MpiSums &) = delete;

  // As det_communicator_functions has them; `wait` is for one request and gives 0 or an errno.
  int32_t start(char *data, size_t count, int32_t dtype);
  int32_t finish(const std::function<int32_t(MPI_Request &)> &wait);

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Op add_halves_ = MPI_OP_NULL, add_bfloats_ = MPI_OP_NULL;
  std::vector<MPI_Request> requests_;
  size_t finished_ = 0;
};
