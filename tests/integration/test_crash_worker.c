#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/integration/sample_checkpoint.h"
#include "tests/integration/support.h"
#include "tests/integration/test_crash.h"
#include "tests/storage_id.h"

const char *const crash_groups[CRASH_THREADS] = {"training", "validation"};

det_status crash_init(const char *home, det_core **core, det_error *err) {
  char *storage = join(home, "checkpoints");
  det_core_options options = DET_CORE_OPTIONS_INIT;
  options.master = home;
  options.external_id = "crash";
  options.checkpoint_storage = storage;
  options.config_json =
      "{\"searcher\": {\"name\": \"single\", \"metric\": \"value\"},"
      " \"checkpoint_storage\": {\"save_trial_latest\": 1000000}}";  // each is looked for
                                                                     // afterwards
  det_status status = det_core_init(&options, core, err);
  free(storage);
  return status;
}

struct reporter {
  struct ledger *ledger;
  det_core *core;
  int thread;
};

// Mostly metrics; every eighth is a log line, which no master could recognise as a repeat.
static det_status report(det_core *core, int thread, int64_t steps, det_error *err) {
  det_train_context *train = det_core_train(core);
  det_metric metric = {"value", (double)steps};
  if (!crash_is_log(steps))
    return det_train_report_metrics(train, crash_groups[thread], steps, &metric, 1, err);
  char text[64];
  snprintf(text, sizeof text, "%s %lld", crash_groups[thread], (long long)steps);
  return det_train_log(train, DET_LOG_LEVEL_INFO, text, err);
}

static void *report_until_killed(void *argument) {
  enum { AT_FULL_SPEED = 1000 };  // then ever slower, so that the store stays small enough to check
  struct reporter *at = argument;
  det_error err = DET_ERROR_INIT;
  int64_t run_id = at->ledger->run_id;
  for (int64_t i = 0; i < CRASH_REPORTS_MAX; i++) {
    at->ledger->reports[run_id][at->thread].begun = i + 1;
    if (report(at->core, at->thread, crash_steps(run_id, i), &err) != DET_OK) {
      fprintf(stderr, "report: %s\n", err.message);
      exit(EXIT_FAILURE);
    }
    at->ledger->reports[run_id][at->thread].acknowledged = i + 1;
    if (i > AT_FULL_SPEED && i % 16 == 0) sleep_us(5 * i);
  }
  return NULL;
}

// Every other one is only promised when this returns.
static det_status commit(det_checkpoint_writer *store, int64_t steps, det_error *err) {
  if (steps % 2 == 0) return det_checkpoint_writer_commit(store, err);
  det_checkpoint_ticket *ticket = NULL;
  det_status status = det_checkpoint_writer_commit_async(store, &ticket, err);
  det_checkpoint_ticket_free(ticket);
  return status;
}

static int save(struct ledger *ledger, det_core *core, int64_t steps, det_error *err) {
  char metadata[64];
  snprintf(metadata, sizeof metadata, "{\"steps_completed\": %lld}", (long long)steps);
  det_checkpoint_writer *store;
  if (det_checkpoint_writer_begin(det_core_checkpoint(core), metadata, NULL, &store, err) != DET_OK)
    return -1;
  if (write_checkpoint(det_checkpoint_writer_path(store), (uint64_t)steps) != 0) return -1;
  if (commit(store, steps, err) != DET_OK) return -1;
  int64_t index = ledger->checkpoints;
  if (index >= CRASH_CHECKPOINTS) return -1;
  memcpy(ledger->checkpoint[index], det_checkpoint_writer_id(store), STORAGE_ID_SIZE);
  ledger->checkpoints = index + 1;
  det_checkpoint_writer_free(store);
  return 0;
}

int crash_worker(const char *home, const char *ledger_path) {
  int file = open(ledger_path, O_RDWR | O_CLOEXEC);
  struct ledger *ledger = mmap(NULL, sizeof *ledger, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  det_core *core = NULL;
  det_error err = DET_ERROR_INIT;
  if (file < 0 || ledger == MAP_FAILED || crash_init(home, &core, &err) != DET_OK) {
    fprintf(stderr, "start: %s\n", err.message);
    return EXIT_FAILURE;
  }
  int64_t run_id = det_info_trial_run_id(det_core_info(core));
  if (run_id < 1 || run_id >= CRASH_RUNS) return EXIT_FAILURE;
  ledger->run_id = run_id;

  struct reporter reporters[CRASH_THREADS];
  for (int i = 0; i < CRASH_THREADS; i++) {
    pthread_t thread;
    reporters[i] = (struct reporter){ledger, core, i};
    if (pthread_create(&thread, NULL, report_until_killed, &reporters[i]) != 0) return EXIT_FAILURE;
  }
  for (int64_t i = 0; save(ledger, core, crash_steps(run_id, i), &err) == 0; i++) {
  }
  fprintf(stderr, "checkpoint: %s\n", err.message);
  return EXIT_FAILURE;
}
