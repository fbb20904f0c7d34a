/* A trial for the tests of `det run`. Its loss is (x - 0.3)² / length, where x is a hyperparameter.
 *   trainee [BEHAVIOUR]
 *     crash_once    leaves with an error in the middle of its first run
 *     crash         does so every time
 *     segfault      is ended by a signal in its first run
 *     leave         leaves without a word in the middle of its work
 *     silent        leaves before its first operation
 *     refuse        refuses its hyperparameters where x > 0.5
 *     nan           has a loss that is no number where x > 0.5
 *     print         prints as much as a trial may
 *     impostor      says that it is the trial before it
 *     memory        takes memory until there is no more
 * TRAINEE_MS: how long a step takes. TRAINEE_HOLD: a file; no step ends while there is one. */
#include <det/core.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static det_error err = DET_ERROR_INIT;

static det_status check(det_status status) {
  if (status >= 0) return status;
  fprintf(stderr, "trainee: %s\n", err.message);
  exit(EXIT_FAILURE);
}

static int64_t restored_step(det_core *core) {
  const char *id = det_info_latest_checkpoint(det_core_info(core));
  if (!id) return 0;
  det_checkpoint_reader *restore;
  char path[4096];
  long long step = -1;
  check(det_checkpoint_reader_open(det_core_checkpoint(core), id, NULL, &restore, &err));
  snprintf(path, sizeof path, "%s/step", det_checkpoint_reader_path(restore));
  FILE *file = fopen(path, "r");
  if (!file || fscanf(file, "%lld", &step) != 1) exit(3);
  fclose(file);
  det_checkpoint_reader_free(restore);
  return step;
}

static void save(det_core *core, int64_t step) {
  char metadata[64], path[4096];
  snprintf(metadata, sizeof metadata, "{\"steps_completed\": %lld}", (long long)step);
  det_checkpoint_writer *store;
  check(det_checkpoint_writer_begin(det_core_checkpoint(core), metadata, NULL, &store, &err));
  snprintf(path, sizeof path, "%s/step", det_checkpoint_writer_path(store));
  FILE *file = fopen(path, "w");
  if (!file || fprintf(file, "%lld", (long long)step) < 0 || fclose(file) != 0) exit(3);
  check(det_checkpoint_writer_commit(store, &err));
  det_checkpoint_writer_free(store);
}

static void misbehave(const char *how, int64_t run, det_core *core, double x) {
  if (!strcmp(how, "crash") || (!strcmp(how, "crash_once") && run == 1)) _exit(1);
  if (!strcmp(how, "segfault") && run == 1) raise(SIGSEGV);
  if (!strcmp(how, "leave")) _exit(0);
  if (!strcmp(how, "refuse") && x > 0.5) {
    check(det_core_close(core, DET_OUTCOME_INVALID_HP, &err));
    _exit(1);
  }
}

static void be_the_one_before(void) {
  char id[24];
  const int own = atoi(getenv("DET_TRIAL_ID"));
  snprintf(id, sizeof id, "%d", own - 1);
  if (own > 1) setenv("DET_TRIAL_ID", id, 1);
}

/* As a machine without any left ends a program. */
static void take_all_memory(void) {
  const struct rlimit limit = {64 << 20, 64 << 20};
  if (setrlimit(RLIMIT_DATA, &limit) != 0) exit(3);
  const int kind = MAP_PRIVATE | MAP_ANONYMOUS;
  while (mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, kind, -1, 0) != MAP_FAILED) continue;
  fprintf(stderr, "trainee: out of memory\n");
  raise(SIGKILL);
}

static bool is_held(void) {
  const char *hold = getenv("TRAINEE_HOLD");
  const struct timespec moment = {0, 5000000};
  return hold && access(hold, F_OK) == 0 && nanosleep(&moment, NULL) == 0;
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  const char *delay = getenv("TRAINEE_MS");
  const struct timespec pause = {0, delay ? 1000000L * atoi(delay) : 0};
  if (!strcmp(how, "silent")) return 0;
  if (!strcmp(how, "impostor")) be_the_one_before();
  if (!strcmp(how, "memory")) take_all_memory();
  if (!strcmp(how, "print"))
    for (int line = 0; line < 1000; line++) printf("line %d\n", line);
  fflush(stdout);

  det_core *core;
  check(det_core_init(NULL, &core, &err));
  const det_info *info = det_core_info(core);
  const double x = det_info_hparam_double(info, "x", 0);
  int64_t step = restored_step(core), saved = step;
  printf("run %lld begins at %lld\n", (long long)det_info_trial_run_id(info), (long long)step);
  fflush(stdout);

  det_searcher_op *op;
  while (check(det_searcher_next(det_core_searcher(core), &op, &err)) == DET_OK) {
    const int64_t length = (int64_t)det_searcher_op_length(op);
    double loss = (x - 0.3) * (x - 0.3) / (double)length;
    if (!strcmp(how, "nan") && x > 0.5) loss = NAN;
    while (step < length) {
      const det_metric metric = {"loss", loss};
      if (step == length / 2) misbehave(how, det_info_trial_run_id(info), core, x);
      check(det_train_report_training_metrics(det_core_train(core), ++step, &metric, 1, &err));
      check(det_searcher_op_report_progress(op, (double)step, &err));
      nanosleep(&pause, NULL);
      bool preempted = false;
      do
        preempted =
            check(det_preempt_should_preempt(det_core_preempt(core), &err)) == DET_PREEMPTED;
      while (!preempted && is_held());
      if (preempted) {
        save(core, step);
        goto leave;
      }
    }
    const det_metric metric = {"loss", loss};
    check(det_train_report_validation_metrics(det_core_train(core), step, &metric, 1, &err));
    if (step != saved) save(core, step); /* not again, killed after it was saved */
    saved = step;
    check(det_searcher_op_report_completed(op, loss, &err));
  }
leave:
  check(det_core_close(core, DET_OUTCOME_OK, &err));
  det_core_free(core);
  return 0;
}
