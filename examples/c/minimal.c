#include <det/core.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

static det_error core_err = DET_ERROR_INIT;

static det_status must(det_status status) {
  if (status >= 0) return status;
  fprintf(stderr, "%s\n", core_err.message);
  exit(EXIT_FAILURE);
}

static void model(const char *directory, const char *mode, double *weight) {
  char path[4096];
  snprintf(path, sizeof path, "%s/model", directory);
  FILE *file = fopen(path, mode);
  int done = !file ? 0 : *mode == 'r' ? fscanf(file, "%la", weight) : fprintf(file, "%a", *weight);
  if (done < 1 || fclose(file) != 0) perror(path), exit(EXIT_FAILURE);
}

static void save(det_core *core, int64_t step, double weight) {
  char metadata[64];
  snprintf(metadata, sizeof metadata, "{\"steps_completed\": %lld}", (long long)step);
  det_checkpoint_writer *writer;
  must(det_checkpoint_writer_begin(det_core_checkpoint(core), metadata, NULL, &writer, &core_err));
  model(det_checkpoint_writer_path(writer), "w", &weight);
  must(det_checkpoint_writer_commit(writer, &core_err));
  det_checkpoint_writer_free(writer);
}

int main(void) {
  det_core_options options = DET_CORE_OPTIONS_INIT;
  options.config_json = "{\"searcher\": {\"name\": \"single\", \"max_length\": 1000}}";
  options.external_id = "minimal"; /* each start goes on with the trial of this name */
  det_core *core;                  /* no cluster needed: the master is inside */
  must(det_core_init(&options, &core, &core_err));

  const det_info *info = det_core_info(core);
  double rate = det_info_hparam_double(info, "rate", 0.01), weight = 0;
  int64_t step = det_info_steps_completed(info);
  if (det_info_latest_checkpoint(info)) {
    det_checkpoint_reader *reader;
    must(det_checkpoint_reader_open(det_core_checkpoint(core), det_info_latest_checkpoint(info),
                                    NULL, &reader, &core_err));
    model(det_checkpoint_reader_path(reader), "r", &weight);
    det_checkpoint_reader_free(reader);
  }
  printf("from step %lld\n", (long long)step);

  det_searcher_op *op;
  while (must(det_searcher_next(det_core_searcher(core), &op, &core_err)) == DET_OK) {
    while (step < det_searcher_op_length(op)) {
      weight -= rate * 2 * (weight - 3); /* your training goes here */
      thrd_sleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
      det_metric loss = {"loss", (weight - 3) * (weight - 3)};
      must(det_train_report_training_metrics(det_core_train(core), ++step, &loss, 1, &core_err));
      int stop =
          must(det_preempt_should_preempt(det_core_preempt(core), &core_err)) == DET_PREEMPTED;
      if (stop || step % 100 == 0) save(core, step, weight);
      if (stop) goto leave;
    }
    must(det_searcher_op_report_completed(op, (weight - 3) * (weight - 3), &core_err));
  }
leave:
  must(det_core_close(core, DET_OUTCOME_OK, &core_err));
  int status = det_core_exit_status(core); /* not 0 when there is more to do */
  det_core_free(core);
  printf("weight %.3f at step %lld\n", weight, (long long)step);
  return status;
}
