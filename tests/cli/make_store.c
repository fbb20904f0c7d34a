// Fills the store named by DET_HOME for tests/cli/test_det.py: one trial, of the kind asked for.
#include <det/core.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static det_error err = DET_ERROR_INIT;

static void check(det_status status, const char *what) {
  if (status >= DET_OK) return;
  fprintf(stderr, "make_store: %s: %s\n", what, err.message);
  exit(1);
}

static void report(det_core *core, const char *group, int64_t steps, const char *name,
                   double value) {
  const det_metric metric = {name, value};
  check(det_train_report_metrics(det_core_train(core), group, steps, &metric, 1, &err), "report");
}

static void save(det_core *core, int64_t steps) {
  char metadata[64], path[4096];
  snprintf(metadata, sizeof metadata, "{\"steps_completed\": %" PRId64 "}", steps);
  det_checkpoint_writer *store;
  check(det_checkpoint_writer_begin(det_core_checkpoint(core), metadata, NULL, &store, &err),
        "checkpoint");
  snprintf(path, sizeof path, "%s/weights.bin", det_checkpoint_writer_path(store));
  FILE *file = fopen(path, "w");
  if (!file || fputs("weights", file) < 0 || fclose(file) != 0) exit(1);
  check(det_checkpoint_writer_commit(store, &err), "commit");
  det_checkpoint_writer_free(store);
}

// Trains to the end, with values and texts that are hard to show.
static void complete(det_core *core) {
  det_searcher_op *op;
  check(det_searcher_next(det_core_searcher(core), &op, &err), "operation");
  for (int64_t step = 1; step <= 20; ++step) {
    report(core, "training", step, "loss", step == 5 ? NAN : 2.0 / (double)step);
    report(core, "training", step, "rate", 0.5);
    if (step % 10 == 0) report(core, "validation", step, "accuracy", (double)step / 25);
  }
  report(core, "validation", 20, "peak", INFINITY);
  det_train_context *train = det_core_train(core);
  check(det_train_log(train, DET_LOG_LEVEL_INFO, "first line\nsecond line", &err), "log");
  check(det_train_log(train, DET_LOG_LEVEL_WARNING, "red \x1b[31malert", &err), "log");
  check(det_train_log(train, DET_LOG_LEVEL_ERROR, "it broke", &err), "log");
  check(det_train_set_status(train, "nearly done", &err), "status");
  save(core, 20);
  check(det_searcher_op_report_completed(op, 0.8, &err), "completion");
  check(det_searcher_next(det_core_searcher(core), &op, &err), "end");
}

// More reports than one answer holds.
static void report_many(det_core *core) {
  for (int64_t step = 1; step <= 2500; ++step) report(core, "training", step, "loss", 1);
}

// With a metric that only one report has, far from the first and the last.
static void report_rarely(det_core *core) {
  for (int64_t step = 1; step <= 1000; ++step)
    report(core, "training", step, step == 500 ? "rare" : "loss", step == 500 ? 7 : 1);
}

// More log lines than one answer holds, and an error among them.
static void talk(det_core *core) {
  char text[32];
  for (int line = 1; line <= 2500; ++line) {
    snprintf(text, sizeof text, "line %d", line);
    const det_log_level level = line == 700 ? DET_LOG_LEVEL_ERROR : DET_LOG_LEVEL_INFO;
    check(det_train_log(det_core_train(core), level, text, &err), "log");
  }
}

// Names that mean something to a terminal or a spreadsheet.
static void report_hostile(det_core *core) {
  report(core, "@group", 1, "=1+2", -0.5);
  report(core, "@group", 1, "\x1b[31mred\xe2\x80\xae", 2);
}

// Trains until it is asked to stop, then saves and leaves.
static void wait_for_preemption(det_core *core) {
  report(core, "training", 1, "loss", 1);
  printf("%" PRId64 "\n", det_info_trial_id(det_core_info(core)));
  fflush(stdout);
  det_status status;
  while ((status = det_preempt_should_preempt(det_core_preempt(core), &err)) == DET_OK) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  check(status, "should_preempt");
  save(core, 1);
  puts("preempted");
}

int main(int argc, char **argv) {
  const char *kind = argc == 2 ? argv[1] : "";
  det_core_options options = DET_CORE_OPTIONS_INIT;
  options.name = strcmp(kind, "complete") == 0 ? "dig\x1bits" : "long job";
  options.hparams_json = "{\"lr\": 0.25, \"optimizer\": {\"name\": \"sgd\"}}";
  options.config_json =
      "{\"searcher\": {\"name\": \"single\", \"metric\": \"accuracy\", "
      "\"smaller_is_better\": false, \"max_length\": {\"batches\": 20}}}";
  det_core *core;
  check(det_core_init(&options, &core, &err), "init");
  if (strcmp(kind, "complete") == 0) complete(core);
  if (strcmp(kind, "many") == 0) report_many(core);
  if (strcmp(kind, "rare") == 0) report_rarely(core);
  if (strcmp(kind, "talk") == 0) talk(core);
  if (strcmp(kind, "hostile") == 0) report_hostile(core);
  if (strcmp(kind, "wait") == 0) wait_for_preemption(core);
  if (strcmp(kind, "die") == 0) {
    report(core, "training", 1, "loss", 1);
    raise(SIGKILL);
  }
  check(det_core_close(core, DET_OUTCOME_OK, &err), "close");
  det_core_free(core);
  return 0;
}
