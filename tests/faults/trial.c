/* One whole life of a trial: it starts, trains as its search asks, saves, deletes and restores
 * checkpoints, closes, starts again, is asked to stop, and leaves. Every failure is told in words,
 * and gone on from.
 *
 *   trial live MASTER STORAGE LEDGER   what was asked for and answered is in the ledger; see
 * ledger.h trial look MASTER STORAGE [ID]...  a clean next start; prints what is kept, in lines of
 * JSON
 *
 * Its name is in DET_EXTERNAL_ID. */
#include <det/core.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/faults/ledger.h"
#include "tests/faults/mark.h"
#include "tests/integration/sample_checkpoint.h"
#include "tests/integration/support.h"
#include "tests/open_store.h"
#include "tests/storage_id.h"

enum { STEPS = 8 };

struct saved {
  char id[STORAGE_ID_SIZE];
  int committed;
};

static const char *master, *storage;
static struct ledger *ledger;
static det_error err = DET_ERROR_INIT;
static int refusals;

/* The next run of the trial. */
static det_status start(det_core **core) {
  const int32_t signal = SIGUSR1;
  det_core_options options = DET_CORE_OPTIONS_INIT;
  options.master = master;
  options.checkpoint_storage = storage;
  options.config_json =
      "{\"searcher\": {\"name\": \"single\", \"metric\": \"value\", \"max_length\": 8},"
      " \"checkpoint_storage\": {\"save_trial_latest\": 1000000}}"; /* each is looked for afterwards
                                                                     */
  options.preempt_signals = &signal;
  options.preempt_signal_count = 1;
  options.close_wait_ms = 5000;
  return det_core_init(&options, core, &err);
}

static void wrong(const char *what) { fprintf(stderr, "wrong: %s\n", what); }

/* Tells of a failure; every one must be told in words, and be of a kind that a user can act on. */
static int succeeds(const char *call, det_status status) {
  if (status >= 0) return 1;
  refusals++;
  fprintf(stderr, "trial: %s: %s, errno %d: %s\n", call, det_status_name(status), err.os_errno,
          err.message);
  if (err.code != status || strlen(err.message) < 10) wrong("an error without words");
  if (status == DET_E_INTERNAL) wrong("a failing system call is no defect of the library");
  err = (det_error)DET_ERROR_INIT;
  return 0;
}

/* Notes a call before it is made and what became of it. */
#define NOTED(what, which, call)                                       \
  (note(ledger, "%s %s called", what, which),                          \
   succeeds(what, call) ? (note(ledger, "%s %s done", what, which), 1) \
                        : (note(ledger, "%s %s refused", what, which), 0))

static void report(det_core *core, int64_t steps) {
  det_train_context *train = det_core_train(core);
  const det_metric metric = {"value", (double)steps};
  char which[16], line[32];
  snprintf(which, sizeof which, "%d", (int)steps);
  snprintf(line, sizeof line, "step %d", (int)steps);
  NOTED("training", which, det_train_report_training_metrics(train, steps, &metric, 1, &err));
  NOTED("log", which, det_train_log(train, DET_LOG_LEVEL_INFO, line, &err));
}

static void save(struct saved *saved, det_core *core, int64_t steps) {
  char metadata[64];
  snprintf(metadata, sizeof metadata, "{\"steps_completed\": %lld}", (long long)steps);
  det_checkpoint_writer *store = NULL;
  if (!succeeds("begin", det_checkpoint_writer_begin(det_core_checkpoint(core), metadata, NULL,
                                                     &store, &err)))
    return;
  snprintf(saved->id, sizeof saved->id, "%s", det_checkpoint_writer_id(store));
  if (write_checkpoint(det_checkpoint_writer_path(store), (uint64_t)steps) == 0)
    saved->committed = NOTED("commit", saved->id, det_checkpoint_writer_commit(store, &err));
  det_checkpoint_writer_free(store);
}

static void restore(const struct saved *saved, det_core *core) {
  det_checkpoint_reader *from = NULL;
  if (!succeeds("restore", det_checkpoint_reader_open(det_core_checkpoint(core), saved->id, NULL,
                                                      &from, &err)))
    return;
  const char *path = det_checkpoint_reader_path(from);
  if (check_checkpoint(path)) { /* or was that a fault of ours? */
    faults_end();
    if (check_checkpoint(path)) wrong(check_checkpoint(path));
    faults_begin();
  }
  det_checkpoint_reader_free(from);
}

static void remove_checkpoint(struct saved *saved, det_core *core) {
  NOTED("delete", saved->id, det_checkpoint_delete(det_core_checkpoint(core), saved->id, &err));
}

static void train(det_core *core, det_searcher_op *op, struct saved saved[2]) {
  for (int64_t steps = 1; steps < STEPS; steps++) {
    report(core, steps);
    succeeds("progress", det_searcher_op_report_progress(op, (double)steps, &err));
    const det_status stop = det_preempt_should_preempt(det_core_preempt(core), &err);
    if (succeeds("should_preempt", stop) && stop == DET_PREEMPTED) wrong("nobody asked it to stop");
    if (steps == 2) save(&saved[0], core, steps);
    if (steps == 4) save(&saved[1], core, steps);
  }
  if (saved[0].committed && saved[1].committed) remove_checkpoint(&saved[0], core);
  if (saved[1].committed) restore(&saved[1], core);
}

static void validate(det_core *core, det_searcher_op *op) {
  det_train_context *train = det_core_train(core);
  const det_metric metric = {"value", STEPS};
  double best = 0;
  const int reported =
      NOTED("validation", "8", det_train_report_validation_metrics(train, STEPS, &metric, 1, &err));
  if (reported && succeeds("best", det_train_get_experiment_best_validation(train, &best, &err)) &&
      best != STEPS)
    wrong("the best validation");
  NOTED("metadata", "1", det_train_set_metadata(train, "{\"kept\": 1}", &err));
  for (int tries = 0; tries < 3; tries++)
    if (NOTED("completed", "8", det_searcher_op_report_completed(op, STEPS, &err))) break;
}

static void leave(det_core *core) {
  succeeds("close", det_core_close(core, refusals ? DET_OUTCOME_ERROR : DET_OUTCOME_OK, &err));
  det_core_free(core);
}

/* Trains to the end. */
static void first_run(struct saved saved[2]) {
  det_core *core = NULL;
  det_searcher_op *op = NULL;
  if (!succeeds("init", start(&core))) return;
  note(ledger, "run %d done", (int)det_info_trial_run_id(det_core_info(core)));
  const det_status next = det_searcher_next(det_core_searcher(core), &op, &err);
  if (succeeds("next", next) && next == DET_OK) {
    train(core, op, saved);
    validate(core, op);
    succeeds("next", det_searcher_next(det_core_searcher(core), &op, &err));
  }
  leave(core);
}

/* Is asked to stop, saves, and leaves. */
static void second_run(const struct saved *last) {
  det_core *core = NULL;
  struct saved saved = {"", 0};
  if (!succeeds("init", start(&core))) return;
  note(ledger, "run %d done", (int)det_info_trial_run_id(det_core_info(core)));
  const char *latest = det_info_latest_checkpoint(det_core_info(core));
  if (last->committed && (!latest || strcmp(latest, last->id) != 0))
    wrong("a start is handed another checkpoint than the one that was committed last");
  report(core, STEPS);
  succeeds("request", det_preempt_request(det_core_preempt(core)));
  const det_status stop = det_preempt_should_preempt(det_core_preempt(core), &err);
  if (succeeds("should_preempt", stop) && stop != DET_PREEMPTED) wrong("it was asked to stop");
  save(&saved, core, STEPS);
  leave(core);
}

static int live(void) {
  struct saved saved[2] = {{"", 0}, {"", 0}};
  faults_begin();
  first_run(saved);
  second_run(&saved[1]);
  faults_end();
  return refusals > 0;
}

static void print(const char *what, det_status status, char **json) {
  if (succeeds(what, status)) printf("%s %s\n", what, *json);
  det_free(*json);
  *json = NULL;
}

static void restore_id(const char *id, det_core *core) {
  struct saved saved;
  snprintf(saved.id, sizeof saved.id, "%.36s", id);
  restore(&saved, core);
}

/* What the store has; of a master ask the master. */
static void look_into_store(det_core *core) {
  det_client *client = NULL;
  det_client_page page = DET_CLIENT_PAGE_INIT;
  char *json = NULL;
  const int64_t id = det_info_trial_id(det_core_info(core));
  page.limit = 100000;
  if (!succeeds("open", open_store(master, &client, &err))) return;
  print("metrics", det_client_list_metrics(client, id, NULL, &page, &json, &err), &json);
  print("logs", det_client_list_logs(client, id, &page, &json, &err), &json);
  print("trial", det_client_get_trial(client, id, &json, &err), &json);
  det_status status = det_client_list_checkpoints(client, 0, &page, &json, &err);
  for (const char *at = json; at && (at = json_find(at, "uuid")) != NULL;) {
    const char *state = json_find(at, "state");
    if (state && strncmp(state, "\"COMPLETED\"", 11) == 0) restore_id(at + 1, core);
  }
  print("checkpoints", status, &json);
  det_client_free(client);
}

static void look_for_journals(void) {
  det_client *client = NULL;
  char *json = NULL;
  if (!succeeds("open", open_store(master, &client, &err))) return;
  print("sync", det_client_sync(client, &json, &err), &json);
  det_client_free(client);
}

static int look(char **ids) {
  det_core *core = NULL;
  if (!succeeds("init", start(&core))) return 1;
  const det_info *info = det_core_info(core);
  const char *latest = det_info_latest_checkpoint(info);
  succeeds("flush", det_train_flush(det_core_train(core), DET_TIMEOUT_INFINITE, &err));
  printf("info {\"run_id\": %d, \"latest\": \"%s\"}\n", (int)det_info_trial_run_id(info),
         latest ? latest : "");
  if (strncmp(master, "http", 4) != 0) look_into_store(core);
  for (; *ids; ids++) restore_id(*ids, core);
  leave(core);
  look_for_journals();
  return refusals > 0;
}

int main(int argc, char **argv) {
  const int lives = argc == 5 && strcmp(argv[1], "live") == 0;
  if (!lives && !(argc >= 4 && strcmp(argv[1], "look") == 0)) {
    fprintf(
        stderr,
        "usage: trial live MASTER STORAGE LEDGER | trial look MASTER STORAGE [CHECKPOINT]...\n");
    return 2;
  }
  master = argv[2];
  storage = argv[3];
  if (!lives) return look(argv + 4);
  ledger = open_ledger(argv[4]);
  return live();
}
