/* Collectives over MPI beside the raw MPI calls on the same bytes, in the same run:
 *
 *   mpirun -n 2 bench_collectives
 *
 * A call alone is timed after a barrier; calls back to back are timed together. The slowest rank
 * counts, and medians are printed. Our gather also waits until everybody's message has come, so its
 * rival is MPI_Gather with MPI_Barrier, which promise the same; it is shown beside MPI_Gather too.
 */
#include <det/core.h>
#include <det/mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/median_of_slowest.h"
#include "tests/bench/row.h"

enum { warmup = 200, largest = 1 << 20, turns = 15 };

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

/* Our call and a rival's. */
struct pair {
  const char *name;
  call ours;
  const char *rival;
  call theirs;
  double goal;
};

static void print_row(const struct pair *pair, int bytes, const char *how, const double *seconds) {
  char name[80];
  snprintf(name, sizeof name, "%d B %s over MPI, %d ranks, %s", bytes, pair->name, size, how);
  if (rank == 0) bench_row(name, seconds[0], pair->rival, seconds[1], "s", pair->goal);
}

/* In turns, so that both see the same machine. */
static void compare_alone(const struct pair *pair, int bytes) {
  const int rounds = bytes < 100000 ? 4000 : 400;
  const call calls[2] = {pair->ours, pair->theirs};
  double *times[2], medians[2];
  for (int which = 0; which < 2; ++which) times[which] = malloc(sizeof(double) * (size_t)rounds);
  for (int i = -warmup; i < rounds; ++i) {
    for (int which = 0; which < 2; ++which) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double start = MPI_Wtime();
      calls[which](bytes);
      if (i >= 0) times[which][i] = MPI_Wtime() - start;
    }
  }
  for (int which = 0; which < 2; ++which) {
    medians[which] = median_of_slowest(times[which], rounds);
    free(times[which]);
  }
  print_row(pair, bytes, "alone", medians);
}

static double back_to_back(call call, int bytes) {
  const int rounds = bytes < 100000 ? 2000 : 50;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) call(bytes);
  MPI_Barrier(MPI_COMM_WORLD); /* a broadcast does not wait for those who receive it */
  return (MPI_Wtime() - start) / rounds;
}

/* Between two calls a training loop works: those who only receive find the answer there. */
static void work(void) {
  const double end = MPI_Wtime() + 20e-6;
  while (MPI_Wtime() < end) continue;
}

static double in_a_loop(call call, int bytes) {
  enum { rounds = 2000 };
  double inside = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < rounds; ++i) {
    work();
    const double start = MPI_Wtime();
    call(bytes);
    inside += MPI_Wtime() - start;
  }
  return inside / rounds;
}

static void compare_many(const struct pair *pair, int bytes, const char *how,
                         double (*time_of)(call, int)) {
  double ours[turns], theirs[turns];
  time_of(pair->ours, bytes);
  for (int turn = 0; turn < turns; ++turn) {
    ours[turn] = time_of(pair->ours, bytes);
    theirs[turn] = time_of(pair->theirs, bytes);
  }
  const double medians[2] = {median_of_slowest(ours, turns), median_of_slowest(theirs, turns)};
  print_row(pair, bytes, how, medians);
}

static det_core *core;

static void our_question(int bytes) {
  (void)bytes;
  if (det_preempt_should_preempt(det_core_preempt(core), NULL) != DET_OK)
    MPI_Abort(MPI_COMM_WORLD, 1);
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
  const struct pair question = {"should_preempt", our_question, "MPI_Bcast", raw_broadcast, 1.2};
  compare_alone(&question, 4);
  compare_many(&question, 4, "back to back", back_to_back);
  compare_many(&question, 4, "in a loop", in_a_loop);
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
  const struct pair pairs[] = {
      {"broadcast", our_broadcast, "MPI_Bcast", raw_broadcast, 1.2},
      {"allgather", our_allgather, "MPI_Allgather", raw_allgather, 1.2},
      {"gather", our_gather, "MPI_Gather, MPI_Barrier", raw_gather_and_barrier, 1.2},
      {"gather", our_gather, "MPI_Gather", raw_gather, 0},
  };
  const int sizes[] = {8, 1024, largest};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    for (size_t which = 0; which < sizeof pairs / sizeof *pairs; ++which) {
      compare_alone(&pairs[which], sizes[i]);
      compare_many(&pairs[which], sizes[i], "back to back", back_to_back);
    }
  }
  ask_for_preemption();
  free(mine);
  free(all);
  det_distributed_free(job);
  MPI_Finalize();
  return 0;
}
