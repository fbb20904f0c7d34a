/* Collectives over MPI against the raw MPI calls on the same bytes, in the same run:
 *
 *   mpirun -n 2 bench_collectives
 *
 * Each call is timed alone, after a barrier, on every rank; the slowest rank counts, and the median
 * of many calls is printed. Our gather also waits until everybody's message has come, so beside
 * MPI_Gather it is shown against MPI_Gather and MPI_Barrier, which promise the same. */
#include <det/core.h>
#include <det/mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { warmup = 200, largest = 1 << 20 };

static det_distributed_context *job;
static int rank, size;
static char *mine, *all;

typedef void (*call)(int bytes);

static void take(det_status status, det_messages **messages) {
  if (status != DET_OK) MPI_Abort(MPI_COMM_WORLD, 1);
  det_messages_free(*messages);
}

static void our_broadcast(int bytes) {
  det_messages *messages;
  take(det_distributed_broadcast(job, mine, (size_t)bytes, &messages, NULL), &messages);
}
static void our_allgather(int bytes) {
  det_messages *messages;
  take(det_distributed_allgather(job, mine, (size_t)bytes, &messages, NULL), &messages);
}
static void our_gather(int bytes) {
  det_messages *messages;
  take(det_distributed_gather(job, mine, (size_t)bytes, &messages, NULL), &messages);
}
static void raw_broadcast(int bytes) { MPI_Bcast(mine, bytes, MPI_BYTE, 0, MPI_COMM_WORLD); }
static void raw_allgather(int bytes) {
  MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD);
}
static void raw_gather(int bytes) {
  MPI_Gather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}
static void raw_gather_and_barrier(int bytes) {
  raw_gather(bytes);
  MPI_Barrier(MPI_COMM_WORLD);
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Median microseconds of each of two calls, taken in turns so that both see the same machine. */
static void compare(const char *name, call ours, call raw, int bytes, double budget) {
  const int rounds = bytes < 100000 ? 4000 : 400;
  double *times[2], *slowest = malloc(sizeof(double) * (size_t)rounds);
  double medians[2];
  const call calls[2] = {ours, raw};
  for (int which = 0; which < 2; ++which) times[which] = malloc(sizeof(double) * (size_t)rounds);
  for (int i = -warmup; i < rounds; ++i) {
    for (int which = 0; which < 2; ++which) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double start = MPI_Wtime();
      calls[which](bytes);
      if (i >= 0) times[which][i] = (MPI_Wtime() - start) * 1e6;
    }
  }
  for (int which = 0; which < 2; ++which) {
    MPI_Allreduce(times[which], slowest, rounds, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    qsort(slowest, (size_t)rounds, sizeof *slowest, ascending);
    medians[which] = slowest[rounds / 2];
    free(times[which]);
  }
  free(slowest);
  if (rank == 0)
    printf("%-34s %8d B  %10.2f us  %10.2f us  %5.2f x  (budget %.1f x)\n", name, bytes, medians[0],
           medians[1], medians[0] / medians[1], budget);
}

static det_core *core;

static void our_question(int bytes) {
  (void)bytes;
  if (det_preempt_should_preempt(det_core_preempt(core), NULL) != DET_OK)
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Between two questions a training loop works: those who only receive the answer find it there. */
static void work(void) {
  const double end = MPI_Wtime() + 20e-6;
  while (MPI_Wtime() < end) continue;
}

/* What a question adds to a loop of batches, as the slowest rank sees it. */
static void compare_in_a_loop(void) {
  enum { rounds = 20000, turns = 5 };
  double best[2] = {1e9, 1e9};
  for (int turn = 0; turn < turns; ++turn) {
    for (int which = 0; which < 2; ++which) {
      double inside = 0, slowest;
      MPI_Barrier(MPI_COMM_WORLD);
      for (int i = 0; i < rounds; ++i) {
        work();
        const double start = MPI_Wtime();
        if (which == 0) our_question(4);
        else raw_broadcast(4);
        inside += MPI_Wtime() - start;
      }
      MPI_Allreduce(&inside, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      if (slowest / rounds * 1e6 < best[which]) best[which] = slowest / rounds * 1e6;
    }
  }
  if (rank == 0)
    printf("%-34s %8d B  %10.2f us  %10.2f us  %5.2f x  (budget 1.2 x)\n",
           "should_preempt in a loop of batches", 4, best[0], best[1], best[0] / best[1]);
}

static void ask_for_preemption(void) {
  char home[] = "/tmp/detcore-bench-XXXXXX", command[64];
  det_core_options options = DET_CORE_OPTIONS_INIT;
  det_error err;
  if (rank == 0 && mkdtemp(home) == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  options.master = home;
  options.distributed = job;
  if (det_core_init(&options, &core, &err) != DET_OK) {
    fprintf(stderr, "%s\n", err.message);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  compare("should_preempt / MPI_Bcast", our_question, raw_broadcast, 4, 1.2);
  compare_in_a_loop();
  if (det_core_close(core, DET_OUTCOME_OK, &err) != DET_OK) fprintf(stderr, "%s\n", err.message);
  det_core_free(core);
  MPI_Barrier(MPI_COMM_WORLD);
  snprintf(command, sizeof command, "rm -rf '%s'", home);
  if (rank == 0 && system(command) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
  det_error err;
  MPI_Init(&argc, &argv);
  if (det_distributed_from_mpi(MPI_COMM_WORLD, &job, &err) != DET_OK) {
    fprintf(stderr, "%s\n", err.message);
    return 1;
  }
  rank = det_distributed_rank(job);
  size = det_distributed_size(job);
  mine = calloc(1, largest);
  all = calloc((size_t)size, largest);
  if (rank == 0) printf("%d ranks %35s %15s %13s\n", size, "ours", "MPI", "ratio");
  const int sizes[] = {8, 1024, largest};
  for (int i = 0; i < 3; ++i) {
    compare("broadcast / MPI_Bcast", our_broadcast, raw_broadcast, sizes[i], 1.5);
    compare("allgather / MPI_Allgather", our_allgather, raw_allgather, sizes[i], 1.5);
    compare("gather / MPI_Gather", our_gather, raw_gather, sizes[i], 1.5);
    compare("gather / MPI_Gather + MPI_Barrier", our_gather, raw_gather_and_barrier, sizes[i], 1.5);
  }
  ask_for_preemption();
  free(mine);
  free(all);
  det_distributed_free(job);
  MPI_Finalize();
  return 0;
}
