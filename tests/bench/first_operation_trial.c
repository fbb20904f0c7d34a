/* A trial that says when it has its first operation in hand, by the pipe BENCH_PIPE, and is done.
 */
#include <det/core.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static det_error err = DET_ERROR_INIT;

static det_status check(det_status status) {
  if (status >= 0) return status;
  fprintf(stderr, "benchmark: %s\n", err.message);
  exit(EXIT_FAILURE);
}

int main(void) {
  det_core *core;
  det_searcher_op *op;
  check(det_core_init(NULL, &core, &err));
  if (check(det_searcher_next(det_core_searcher(core), &op, &err)) != DET_OK) return EXIT_FAILURE;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const long long time = now.tv_sec * 1000000000LL + now.tv_nsec;
  const int pipe = open(getenv("BENCH_PIPE"), O_WRONLY);
  if (write(pipe, &time, sizeof time) != sizeof time) return EXIT_FAILURE;
  check(det_searcher_op_report_completed(op, 0.5, &err));
  check(det_core_close(core, DET_OUTCOME_OK, &err));
  det_core_free(core);
  return EXIT_SUCCESS;
}
