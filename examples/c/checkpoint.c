/* Saves and restores a checkpoint by hand.
 *
 * The program counts to 30 and stops after every ten. Each start resumes from the latest
 * checkpoint. The name "counter" identifies the trial: the next start with this name finds it.
 *
 *     cc checkpoint.c $(pkg-config --cflags --libs detcore) -o checkpoint
 *     ./checkpoint */
#include <det/core.h>
#include <stdio.h>
#include <stdlib.h>

static det_error err = DET_ERROR_INIT;

static det_status check(det_status status) {
  if (status >= 0) return status;
  fprintf(stderr, "checkpoint: %s\n", err.message);
  exit(EXIT_FAILURE);
}

static FILE *open_count(const char *directory, const char *mode) {
  char path[4096];
  snprintf(path, sizeof path, "%s/count.txt", directory);
  FILE *file = fopen(path, mode);
  if (!file) perror(path), exit(EXIT_FAILURE);
  return file;
}

static int restore(det_checkpoint_context *checkpoint, const char *id) {
  int count;
  det_checkpoint_reader *stored;
  check(det_checkpoint_reader_open(checkpoint, id, NULL, &stored, &err)); /* verifies it */
  FILE *file = open_count(det_checkpoint_reader_path(stored), "r");
  if (fscanf(file, "%d", &count) != 1) fprintf(stderr, "no number\n"), exit(EXIT_FAILURE);
  fclose(file);
  det_checkpoint_reader_free(stored);
  return count;
}

static void save(det_checkpoint_context *checkpoint, int count) {
  char metadata[64];
  snprintf(metadata, sizeof metadata, "{\"steps_completed\": %d}", count);
  det_checkpoint_writer *store;
  check(det_checkpoint_writer_begin(checkpoint, metadata, NULL, &store, &err));
  FILE *file = open_count(det_checkpoint_writer_path(store), "w");
  fprintf(file, "%d\n", count);
  if (fclose(file) != 0) perror("count.txt"), exit(EXIT_FAILURE);
  check(det_checkpoint_writer_commit(store, &err)); /* now it is complete and visible */
  det_checkpoint_writer_free(store);
}

int main(void) {
  det_core *core;
  det_core_options options = DET_CORE_OPTIONS_INIT;
  options.external_id = "counter";
  check(det_core_init(&options, &core, &err));
  det_preempt_context *preempt = det_core_preempt(core);
  const char *latest = det_info_latest_checkpoint(det_core_info(core));

  int count = latest ? restore(det_core_checkpoint(core), latest) : 0;
  printf("from %d", count);
  while (count < 30 && check(det_preempt_should_preempt(preempt, &err)) != DET_PREEMPTED) {
    count++;
    if (count == 10 || count == 20) det_preempt_request(preempt); /* as `det pause` would */
  }
  printf(" to %d\n", count);
  save(det_core_checkpoint(core), count);

  check(det_core_close(core, DET_OUTCOME_OK, &err));
  int status = det_core_exit_status(core);
  det_core_free(core);
  return status;
}
