/* Medians of benchmarks in C. */
#pragma once

#include <stdlib.h>

static inline int bench_ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorts the values. */
static inline double bench_median(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, bench_ascending);
  return values[count / 2];
}
