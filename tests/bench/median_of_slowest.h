/* Of each round the slowest rank of the job, and the median of these. Collective. */
#pragma once

#include <mpi.h>
#include <stdlib.h>

#include "tests/bench/median.h"

static inline double median_of_slowest(const double *times, int rounds) {
  double *slowest = malloc(sizeof(double) * (size_t)rounds);
  MPI_Allreduce(times, slowest, rounds, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  const double median = bench_median(slowest, rounds);
  free(slowest);
  return median;
}
