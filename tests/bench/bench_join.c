/* How long the ranks of a job on this machine take to join over sockets: bench_join [RANKS [PORT]],
 * from the first fork until the last one has joined. */
#include <det/distributed.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Says that it has joined, and stays until all have. */
static int run_rank(int rank, int size, int port, int joined, int over) {
  char byte = 0;
  det_error err;
  det_distributed_context *job;
  det_distributed_options options = DET_DISTRIBUTED_OPTIONS_INIT;
  options.rank = options.local_rank = rank;
  options.size = options.local_size = size;
  options.cross_rank = 0;
  options.cross_size = 1;
  options.pub_port = port;
  options.timeout_ms = 300000;
  if (det_distributed_create(&options, &job, &err) != DET_OK) {
    fprintf(stderr, "rank %d: %s\n", rank, err.message);
    return 1;
  }
  if (write(joined, &byte, 1) != 1 || read(over, &byte, 1) != 0) return 1;
  det_distributed_free(job);
  return 0;
}

int main(int argc, char **argv) {
  const int size = argc > 1 ? atoi(argv[1]) : 512;
  const int port = argc > 2 ? atoi(argv[2]) : 23456;
  int joined[2], over[2], failed = 0;
  char byte;
  if (pipe(joined) != 0 || pipe(over) != 0) return 1;
  const double start = now();
  for (int rank = 0; rank < size; ++rank) {
    if (fork() != 0) continue;
    close(over[1]);
    close(joined[0]);
    _exit(run_rank(rank, size, port, joined[1], over[0]));
  }
  close(joined[1]);
  for (int rank = 0; rank < size && !failed; ++rank) failed = read(joined[0], &byte, 1) != 1;
  const double taken = now() - start;
  close(over[1]);
  for (int status; wait(&status) > 0;) failed |= status;
  if (failed) return 1;
  printf("%d ranks of one machine joined in %.2f s  (512: budget 5 s, idle)\n", size, taken);
  return 0;
}
