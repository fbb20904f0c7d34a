/* How a job ends that nobody takes leave of properly. Launched by test_exit.sh over mpirun. */
#include <det/mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  det_distributed_context *job;
  det_messages *messages;
  det_error err;
  if (det_distributed_from_mpi_world(&job, &err) != DET_OK ||
      det_distributed_allgather(job, "x", 1, &messages, &err) != DET_OK) {
    fprintf(stderr, "%s\n", err.message);
    return 9;
  }
  det_messages_free(messages);
  const int32_t rank = det_distributed_rank(job);
  if (strcmp(how, "forgets") == 0) return 0;
  if (strcmp(how, "fails") == 0) return rank == 1 ? 3 : 0;
  if (strcmp(how, "forks") == 0) {
    if (fork() == 0) exit(0);
    int status = 1;
    wait(&status);
    if (det_distributed_allgather(job, "x", 1, &messages, &err) != DET_OK) return 9;
    return WEXITSTATUS(status);
  }
  /* The last rank hangs; the others hear of it, and leave. */
  if (rank == det_distributed_size(job) - 1)
    for (;;) pause();
  const det_status status = det_distributed_allgather(job, "x", 1, &messages, &err);
  printf("rank %d: %d %s\n", (int)rank, (int)status, err.message);
  fflush(stdout);
  if (strcmp(how, "leaves") == 0) det_distributed_free(job);
  return 0;
}
