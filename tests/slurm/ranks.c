/* Joins the job it was launched in, and prints what every rank says of itself. */
#include <det/core.h>
#include <stdio.h>

int main(void) {
  det_error err = DET_ERROR_INIT;
  det_distributed_context *job;
  det_messages *all = NULL;
  char self[64];
  if (det_distributed_from_env(&job, &err) != DET_OK) {
    fprintf(stderr, "ranks: %s\n", err.message);
    return 1;
  }
  int length = snprintf(self, sizeof self, "%d/%d local %d/%d node %d/%d",
                        det_distributed_rank(job), det_distributed_size(job),
                        det_distributed_local_rank(job), det_distributed_local_size(job),
                        det_distributed_cross_rank(job), det_distributed_cross_size(job));
  det_status status = det_distributed_gather(job, self, (size_t)length, &all, &err);
  if (status != DET_OK) fprintf(stderr, "ranks: %s\n", err.message);
  for (size_t i = 0; i < det_messages_count(all); i++) {
    size_t size;
    const char *message = det_messages_data(all, i, &size);
    printf("%.*s\n", (int)size, message);
  }
  det_messages_free(all);
  det_distributed_free(job);
  return status != DET_OK;
}
