/* A training program in C, with metrics, checkpoints and preemption.
 *
 * If you kill or pause it (`det pause`), the next start resumes from its latest checkpoint. The
 * result is the same as without the interruption.
 *
 *     cc train.c $(pkg-config --cflags --libs detcore) -o train
 *     ./train */
#include <det/core.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

enum { STEPS_BETWEEN_CHECKPOINTS = 20 };

static const char config[] =
    "{\"name\": \"languages\","
    " \"hyperparameters\": {\"rate\": 0.0078125},"
    " \"searcher\": {\"name\": \"single\", \"metric\": \"loss\", \"max_length\": 2000}}";

static det_error err = DET_ERROR_INIT;

static det_status check(det_status status) {
  if (status >= 0) return status;
  fprintf(stderr, "train: %s\n", err.message);
  exit(EXIT_FAILURE);
}

static FILE *open_state(const char *directory, const char *mode) {
  char path[4096];
  snprintf(path, sizeof path, "%s/state", directory);
  FILE *file = fopen(path, mode);
  if (!file) perror(path), exit(EXIT_FAILURE);
  return file;
}

static void save(det_checkpoint_context *checkpoint, int64_t step, double weight) {
  char metadata[64];
  snprintf(metadata, sizeof metadata, "{\"steps_completed\": %" PRId64 "}", step);
  det_checkpoint_writer *store;
  check(det_checkpoint_writer_begin(checkpoint, metadata, NULL, &store, &err));
  FILE *file = open_state(det_checkpoint_writer_path(store), "w");
  fprintf(file, "%" PRId64 " %.17g\n", step, weight);
  if (fclose(file) != 0) perror("state"), exit(EXIT_FAILURE);
  check(det_checkpoint_writer_commit(store, &err)); /* now it is complete and visible */
  det_checkpoint_writer_free(store);
}

static void restore(det_checkpoint_context *checkpoint, const char *id, int64_t *step,
                    double *weight) {
  det_checkpoint_reader *stored;
  check(det_checkpoint_reader_open(checkpoint, id, NULL, &stored, &err));
  FILE *file = open_state(det_checkpoint_reader_path(stored), "r");
  if (fscanf(file, "%" SCNd64 " %lf", step, weight) != 2)
    fprintf(stderr, "train: the checkpoint has no state\n"), exit(EXIT_FAILURE);
  fclose(file);
  det_checkpoint_reader_free(stored);
}

int main(void) {
  det_core_options options = DET_CORE_OPTIONS_INIT;
  options.external_id = "train-c"; /* every start with this name continues the same trial */
  options.config_json = config;
  det_core *core;
  check(det_core_init(&options, &core, &err));
  det_info *info = det_core_info(core);
  det_train_context *train = det_core_train(core);
  det_checkpoint_context *checkpoint = det_core_checkpoint(core);

  double rate, weight = 0;
  check(det_info_get_hparam_double(info, "rate", &rate, &err));
  int64_t step = 0;
  const char *latest = det_info_latest_checkpoint(info);
  if (latest) restore(checkpoint, latest, &step, &weight);
  printf("from %" PRId64 "\n", step);
  fflush(stdout);

  int preempted = 0;
  det_searcher_op *op;
  while (check(det_searcher_next(det_core_searcher(core), &op, &err)) == DET_OK) {
    int64_t length = det_searcher_op_length(op);
    while (step < length && !preempted) {
      thrd_sleep(&(struct timespec){.tv_nsec = 1000000}, NULL); /* your training goes here */
      weight += rate * (1 - weight);
      step++;
      det_metric metric = {"loss", 1 - weight};
      check(det_train_report_training_metrics(train, step, &metric, 1, &err));
      preempted = check(det_preempt_should_preempt(det_core_preempt(core), &err)) == DET_PREEMPTED;
      if (preempted || step == length || step % STEPS_BETWEEN_CHECKPOINTS == 0)
        save(checkpoint, step, weight);
    }
    if (preempted) break;
    det_metric metric = {"loss", 1 - weight}; /* your validation */
    check(det_train_report_validation_metrics(train, step, &metric, 1, &err));
    check(det_searcher_op_report_completed(op, metric.value, &err));
  }

  check(det_core_close(core, DET_OUTCOME_OK, &err));
  int status = det_core_exit_status(core); /* not 0 if more work remains */
  det_core_free(core);
  printf("to %" PRId64 "\n", step);
  return status;
}
