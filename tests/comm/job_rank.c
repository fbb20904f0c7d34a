/* One rank of a job that torchrun's variables describe. usage: job_rank ROUNDS; with 0 rounds it
 * goes on until another rank is lost, and says which. */
#include <det/distributed.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 0;
  det_distributed *job;
  det_error err;
  det_messages *messages;
  if (det_distributed_from_torch(NULL, &job, &err) != DET_OK) {
    fprintf(stderr, "%s\n", err.message);
    return 1;
  }
  const int32_t rank = det_distributed_rank(job);
  const int32_t size = det_distributed_size(job);
  for (int round = 0; rounds == 0 || round < rounds; ++round) {
    if (det_distributed_allgather(job, &rank, sizeof rank, &messages, &err) != DET_OK) {
      printf("rank %d lost: %s\n", (int)rank, err.message);
      return rounds == 0 ? 0 : 1;
    }
    for (int32_t i = 0; i < size; ++i)
      if (memcmp(det_messages_data(messages, (size_t)i, NULL), &i, sizeof i) != 0) return 1;
    det_messages_free(messages);
    if (det_distributed_broadcast_local(job, &rank, sizeof rank, &messages, &err) != DET_OK) {
      printf("rank %d lost: %s\n", (int)rank, err.message);
      return rounds == 0 ? 0 : 1;
    }
    int32_t first;
    memcpy(&first, det_messages_data(messages, 0, NULL), sizeof first);
    if (first != rank - det_distributed_local_rank(job)) return 1;
    det_messages_free(messages);
    if (round == 0) {
      printf("rank %d joined\n", (int)rank);
      fflush(stdout);
    }
  }
  det_distributed_free(job);
  return 0;
}
