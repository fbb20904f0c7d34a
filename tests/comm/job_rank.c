/* One rank of a job that torchrun's variables describe. usage: job_rank ROUNDS; with 0 rounds it
 * goes on until another rank is lost, and says which. */
#include <det/distributed.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 0;
  det_distributed_context *job;
  det_error err;
  det_messages *messages;
  if (det_distributed_from_torch(NULL, &job, &err) != DET_OK) {
    fprintf(stderr, "%s\n", err.message);
    return 1;
  }
  const int32_t rank = det_distributed_rank(job);
  const int32_t size = det_distributed_size(job);
  int wrong = 0, lost = 0;
  for (int round = 0; (rounds == 0 || round < rounds) && !wrong && !lost; ++round) {
    lost = det_distributed_allgather(job, &rank, sizeof rank, &messages, &err) != DET_OK;
    for (int32_t i = 0; !lost && i < size; ++i)
      wrong |= memcmp(det_messages_data(messages, (size_t)i, NULL), &i, sizeof i) != 0;
    det_messages_free(messages);
    if (lost) break;
    lost = det_distributed_broadcast_local(job, &rank, sizeof rank, &messages, &err) != DET_OK;
    const int32_t first = rank - det_distributed_local_rank(job);
    if (!lost) wrong |= memcmp(det_messages_data(messages, 0, NULL), &first, sizeof first) != 0;
    det_messages_free(messages);
    if (round == 0) {
      printf("rank %d joined\n", (int)rank);
      fflush(stdout);
    }
  }
  if (lost) printf("rank %d lost: %s\n", (int)rank, err.message);
  det_distributed_free(job);
  return wrong || lost != (rounds == 0);
}
