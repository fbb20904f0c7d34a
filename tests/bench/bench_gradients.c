/* Gradients added up over MPI's ranks against MPI_Allreduce of as many bytes in one buffer, in the
 * same run: 25 MB in 60 tensors, and 6 small ones:
 *
 *   mpirun -n 2 bench_gradients
 *
 * Both are timed in turns, after a barrier; the slowest rank counts, and medians are printed. */
#include <det/mpi.h>
#include <det/trial_gradients.h>
#include <stdio.h>
#include <stdlib.h>

static int rank;

static void check(det_status status) {
  if (status < 0) MPI_Abort(MPI_COMM_WORLD, 1);
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median_of_slowest(const double *times, int rounds) {
  double *slowest = malloc(sizeof(double) * (size_t)rounds);
  MPI_Allreduce(times, slowest, rounds, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  qsort(slowest, (size_t)rounds, sizeof *slowest, ascending);
  const double median = slowest[rounds / 2];
  free(slowest);
  return median;
}

static void compare(det_distributed_context *job, size_t tensors, size_t elements, int rounds,
                    det_trial_reduction reduction, int32_t compression, const char *name) {
  det_trial_gradient *registered = malloc(tensors * sizeof *registered);
  for (size_t i = 0; i < tensors; ++i) {
    registered[i] = (det_trial_gradient)DET_TRIAL_GRADIENT_INIT;
    registered[i].count = elements;
  }
  det_trial_gradients_options options = DET_TRIAL_GRADIENTS_OPTIONS_INIT;
  options.reduction = reduction;
  options.gradient_compression = compression;
  det_trial_gradients *gradients;
  check(det_trial_gradients_create(job, registered, tensors, &options, &gradients, NULL));
  float *data = calloc(tensors * elements, sizeof *data);
  double *ours = malloc(sizeof(double) * (size_t)rounds),
         *raw = malloc(sizeof(double) * (size_t)rounds);
  for (int round = -3; round < rounds; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (size_t i = tensors; i-- > 0;)
      check(det_trial_gradients_add(gradients, i, data + i * elements, data + i * elements, NULL));
    int32_t apply;
    check(det_trial_gradients_step(gradients, &apply, NULL));
    const double between = MPI_Wtime();
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    MPI_Allreduce(MPI_IN_PLACE, data, (int)(tensors * elements), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
    if (round < 0) continue;
    raw[round] = (MPI_Wtime() - begin) * 1e6;
    ours[round] = (between - start) * 1e6;
  }
  const double our_time = median_of_slowest(ours, rounds);
  const double raw_time = median_of_slowest(raw, rounds);
  if (rank == 0)
    printf("%-32s %3zu tensors %9zu B  %9.1f us  MPI_Allreduce %9.1f us  %5.2f x\n", name, tensors,
           tensors * elements * sizeof *data, our_time, raw_time, our_time / raw_time);
  det_trial_gradients_free(gradients);
  free(ours);
  free(raw);
  free(data);
  free(registered);
}

int main(void) {
  det_distributed_context *job;
  check(det_distributed_from_mpi_world(&job, NULL));
  rank = det_distributed_rank(job);
  const size_t large = 25000000 / 60 / sizeof(float), small = 100;
  compare(job, 60, large, 40, DET_TRIAL_REDUCTION_SHARED_MEMORY, 0, "shared memory");
  compare(job, 60, large, 40, DET_TRIAL_REDUCTION_SHARED_MEMORY, 1,
          "shared memory, half precision");
  compare(job, 60, large, 40, DET_TRIAL_REDUCTION_TRANSPORT, 0, "MPI");
  compare(job, 6, small, 2000, DET_TRIAL_REDUCTION_SHARED_MEMORY, 0, "shared memory");
  compare(job, 6, small, 2000, DET_TRIAL_REDUCTION_TRANSPORT, 0, "MPI");
  det_distributed_free(job);
  return 0;
}
