/* The last rank is silent, or leaves: the others get an error in time. Launched by mpirun. */
#include <det/mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
  const int leaves = argc > 1 && strcmp(argv[1], "leaves") == 0;
  det_distributed_context *job;
  det_messages *messages;
  det_error err;
  int failed = 0;
  MPI_Init(&argc, &argv);
  if (det_distributed_from_mpi(MPI_COMM_WORLD, &job, &err) != DET_OK) {
    fprintf(stderr, "%s\n", err.message);
    return 1;
  }
  const int32_t rank = det_distributed_rank(job);
  if (rank != det_distributed_size(job) - 1) {
    const det_status expected = leaves ? DET_E_UNAVAILABLE : DET_E_TIMEOUT;
    const det_status status = det_distributed_gather(job, "x", 1, &messages, &err);
    failed = status != expected || strstr(err.message, "rank 2") == NULL;
    if (failed) fprintf(stderr, "rank %d: %d %s\n", (int)rank, (int)status, err.message);
  }
  if (leaves) det_distributed_free(job);
  MPI_Barrier(MPI_COMM_WORLD);
  if (!leaves) det_distributed_free(job);
  MPI_Finalize();
  return failed;
}
