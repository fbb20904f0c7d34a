// What is left between ranks that freed their handles at different times.
#pragma once

#include <mpi.h>

#include <vector>

// The communicators of a job that this rank has left. Messages on their way must be received, or
// they meet a later communicator with the same number, and some MPIs wait for them in
// MPI_Finalize(): so everybody's last message says that no other comes.
class MpiParting {
 public:
  // Says goodbye to `peers`, the ranks of `job` that this one may have talked to.
  MpiParting(MPI_Comm job, MPI_Comm machine, const std::vector<int> &peers) noexcept;

  // Takes what the others sent until they, too, said goodbye; then frees the communicators. False
  // when not all did within the limit.
  bool finish(int limit_ms) noexcept;

  // For finish() at the beginning of MPI_Finalize(), when all ranks have freed their handles.
  static void postpone(const MpiParting &parting) noexcept;

 private:
  void take(const MPI_Status &status);

  MPI_Comm job_, machine_;
  std::vector<int> staying_;
};
