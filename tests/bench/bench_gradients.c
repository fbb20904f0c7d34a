/* Gradients added up over MPI's ranks beside MPI_Allreduce of as many floats in one buffer, in the
 * same run:
 *
 *   mpirun -n 2 bench_gradients
 *
 * Both are timed in turns, after a barrier; the slowest rank counts, and medians are printed.
 * Gradients are in arrays of their own, which are copied in and out, or "in place": in the memory
 * of the handle. The last rows are beside MPI_Allreduce between two such copies. */
#include <det/mpi.h>
#include <det/trial_gradients.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/median_of_slowest.h"
#include "tests/bench/row.h"

static int rank, size;

static void check(det_status status) {
  if (status < 0) MPI_Abort(MPI_COMM_WORLD, 1);
}

struct gradients_case {
  const char *name;
  size_t tensors, elements;
  int rounds;
  det_dtype dtype;
  int32_t compression;
  int in_place;
  int rival_copies;
  double goal;
};

/* The rival's floats, and where it copies them for its sum. */
static float *floats, *packed;

static void sum_by_mpi(size_t count, int copies) {
  float *buffer = copies ? packed : floats;
  if (copies) memcpy(packed, floats, count * sizeof *floats);
  MPI_Allreduce(MPI_IN_PLACE, buffer, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  if (!copies) return;
  for (size_t i = 0; i < count; ++i) floats[i] = packed[i] / (float)size;
}

static void sum_by_us(det_trial_gradients *gradients, const struct gradients_case *its, char *data,
                      size_t stride) {
  int32_t apply;
  for (size_t i = its->tensors; i-- > 0;)
    check(det_trial_gradients_add(gradients, i, data + i * stride, data + i * stride, NULL));
  check(det_trial_gradients_step(gradients, &apply, NULL));
}

static void compare(det_distributed_context *job, det_trial_reduction reduction, const char *way,
                    const struct gradients_case *its) {
  const size_t count = its->tensors * its->elements;
  const size_t width = its->dtype == DET_DTYPE_F32 ? sizeof(float) : sizeof(uint16_t);
  det_trial_gradient *registered = malloc(its->tensors * sizeof *registered);
  for (size_t i = 0; i < its->tensors; ++i) {
    registered[i] = (det_trial_gradient)DET_TRIAL_GRADIENT_INIT;
    registered[i].count = its->elements;
    registered[i].dtype = its->dtype;
  }
  det_trial_gradients_options options = DET_TRIAL_GRADIENTS_OPTIONS_INIT;
  options.reduction = reduction;
  options.gradient_compression = its->compression;
  det_trial_gradients *gradients;
  check(det_trial_gradients_create(job, registered, its->tensors, &options, &gradients, NULL));
  char *own = calloc(count, width), *data = own;
  size_t stride = its->elements * width, bytes;
  if (its->in_place) {
    void *memory;
    check(det_trial_gradients_memory(gradients, &memory, &bytes, NULL));
    data = memory;
    stride = (stride + 63) / 64 * 64;
  }
  floats = calloc(count, sizeof *floats);
  packed = calloc(count, sizeof *packed);
  double *ours = malloc(sizeof(double) * (size_t)its->rounds),
         *theirs = malloc(sizeof(double) * (size_t)its->rounds);
  for (int round = -3; round < its->rounds; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    sum_by_us(gradients, its, data, stride);
    const double between = MPI_Wtime();
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    sum_by_mpi(count, its->rival_copies);
    if (round < 0) continue;
    theirs[round] = MPI_Wtime() - begin;
    ours[round] = between - start;
  }
  const double our_time = median_of_slowest(ours, its->rounds);
  const double their_time = median_of_slowest(theirs, its->rounds);
  char name[80];
  snprintf(name, sizeof name, "gradients by %s, %s", way, its->name);
  if (rank == 0)
    bench_row(name, our_time, its->rival_copies ? "copies, MPI_Allreduce" : "MPI_Allreduce",
              their_time, "s", its->goal);
  det_trial_gradients_free(gradients);
  free(ours);
  free(theirs);
  free(floats);
  free(packed);
  free(own);
  free(registered);
}

int main(void) {
  det_distributed_context *job;
  check(det_distributed_from_mpi_world(&job, NULL));
  rank = det_distributed_rank(job);
  size = det_distributed_size(job);
  enum { large = 25000000 / 60 / sizeof(float), medium = 1000000 / 6 / sizeof(float), small = 100 };
  const struct gradients_case cases[] = {
      {"25 MB, 60 tensors", 60, large, 41, DET_DTYPE_F32, 0, 0, 0, 1.1},
      {"25 MB, in place", 60, large, 41, DET_DTYPE_F32, 0, 1, 0, 1.1},
      {"25 MB, compressed", 60, large, 41, DET_DTYPE_F32, 1, 0, 0, 1.1},
      {"as many of F16", 60, large, 41, DET_DTYPE_F16, 0, 0, 0, 1.1},
      {"as many of BF16", 60, large, 41, DET_DTYPE_BF16, 0, 0, 0, 1.1},
      {"1 MB, 6 tensors", 6, medium, 401, DET_DTYPE_F32, 0, 0, 0, 1.5},
      {"2.4 kB, 6 tensors", 6, small, 4001, DET_DTYPE_F32, 0, 0, 0, 1.5},
      {"25 MB, 60 tensors", 60, large, 41, DET_DTYPE_F32, 0, 0, 1, 1.1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    compare(job, DET_TRIAL_REDUCTION_SHARED_MEMORY, "shared memory", &cases[i]);
    compare(job, DET_TRIAL_REDUCTION_TRANSPORT, "MPI", &cases[i]);
  }
  det_distributed_free(job);
  return 0;
}
