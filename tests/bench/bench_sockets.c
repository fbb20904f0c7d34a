/* One rank over sockets, timed: bench_sockets [tcp] RANK SIZE PORT. Rank 0 prints a line for each
 * collective: name, bytes, microseconds. ROUNDS in the environment are calls of each short one. */
#include <det/distributed.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef det_status (*collective)(det_distributed_context *, const void *, size_t, det_messages **,
                                 det_error *);

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void call(collective collective, det_distributed_context *job, const void *data,
                 size_t size) {
  det_messages *messages;
  if (collective(job, data, size, &messages, NULL) != DET_OK) exit(1);
  det_messages_free(messages);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    collective collective;
    size_t size;
  } cases[] = {{"broadcast", det_distributed_broadcast, 8},
               {"allgather", det_distributed_allgather, 8},
               {"gather", det_distributed_gather, 8},
               {"allgather", det_distributed_allgather, 1 << 20}};
  const int force_tcp = argc > 1 && strcmp(argv[1], "tcp") == 0;
  argv += force_tcp;
  if (argc - force_tcp != 4) return 1;
  if (force_tcp) setenv("DET_DISTRIBUTED_SECRET", "of the benchmark", 1);
  det_distributed_options options = DET_DISTRIBUTED_OPTIONS_INIT;
  options.force_tcp = force_tcp;
  options.rank = options.local_rank = atoi(argv[1]);
  options.size = options.local_size = atoi(argv[2]);
  options.cross_rank = 0;
  options.cross_size = 1;
  options.pub_port = atoi(argv[3]);
  det_distributed_context *job;
  if (det_distributed_create(&options, &job, NULL) != DET_OK) return 1;
  const char *wanted = getenv("ROUNDS");
  const int shorts = wanted != NULL ? atoi(wanted) : 20000;
  char *data = calloc(1, 1 << 20);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const int rounds = cases[i].size < 1000 ? shorts : shorts / 40 + 5;
    double start = 0;
    for (int measured = 0; measured < 2; ++measured) {
      start = now();
      for (int round = 0; round < rounds; ++round) {
        call(cases[i].collective, job, data, cases[i].size);
        /* A broadcast does not wait: so that both sides count. */
        if (i == 0) call(det_distributed_allgather, job, NULL, 0);
      }
    }
    if (options.rank == 0)
      printf("%s %zu %f\n", cases[i].name, cases[i].size, (now() - start) / rounds);
  }
  free(data);
  det_distributed_free(job);
  return 0;
}
