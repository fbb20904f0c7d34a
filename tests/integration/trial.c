#include "tests/integration/trial.h"

#include <stdio.h>
#include <string.h>

#include "tests/cmocka.h"
#include "tests/integration/support.h"
#include "tests/open_store.h"
#include "tests/storage_id.h"

det_error trial_error = DET_ERROR_INIT;

det_status must(det_status status) {
  if (status < 0) fail_msg("%s: %s", det_status_name(status), trial_error.message);
  return status;
}

det_core *start_run(const char *home, const char *external_id, int32_t preempt_signal) {
  det_core_options options = DET_CORE_OPTIONS_INIT;
  options.master = home;
  options.external_id = external_id;
  options.preempt_signals = preempt_signal ? &preempt_signal : NULL;
  options.preempt_signal_count = preempt_signal != 0;
  det_core *core = NULL;
  must(det_core_init(&options, &core, &trial_error));
  return core;
}

void end_run(det_core *core) {
  must(det_core_close(core, DET_OUTCOME_OK, &trial_error));
  det_core_free(core);
}

void report_loss(det_core *core, int64_t steps) {
  det_metric metric = {"loss", 1.0 / (double)(steps + 1)};
  must(det_train_report_training_metrics(det_core_train(core), steps, &metric, 1, &trial_error));
}

void save_steps(det_core *core, int64_t steps, char *id) {
  char metadata[64];
  snprintf(metadata, sizeof metadata, "{\"steps_completed\": %lld}", (long long)steps);
  det_checkpoint_writer *store;
  must(
      det_checkpoint_writer_begin(det_core_checkpoint(core), metadata, NULL, &store, &trial_error));
  must(det_checkpoint_writer_commit(store, &trial_error));
  snprintf(id, STORAGE_ID_SIZE, "%s", det_checkpoint_writer_id(store));
  det_checkpoint_writer_free(store);
}

int should_preempt(det_core *core) {
  return must(det_preempt_should_preempt(det_core_preempt(core), &trial_error)) == DET_PREEMPTED;
}

void train_until_preempted(det_core *core) {
  for (int64_t steps = 1; !should_preempt(core); steps++) {
    report_loss(core, steps);
    sleep_us(1000);
  }
}

det_client *open_client(const char *home) {
  det_client *client;
  must(open_store(home, &client, &trial_error));
  return client;
}

void assert_state(const char *home, int64_t trial_id, const char *expected) {
  det_client *client = open_client(home);
  char *json, quoted[32];
  must(det_client_get_trial(client, trial_id, &json, &trial_error));
  snprintf(quoted, sizeof quoted, "\"%s\"", expected);
  const char *found = json_find(json, "state");
  if (!found || strncmp(found, quoted, strlen(quoted)) != 0)
    fail_msg("state is not %s: %s", expected, json);
  det_free(json);
  det_client_free(client);
}

int64_t count_reports(const char *home, int64_t trial_id) {
  det_client *client = open_client(home);
  det_client_page page = DET_CLIENT_PAGE_INIT;
  page.limit = 100000;
  int64_t count = 0;
  do {
    char *json;
    must(det_client_list_metrics(client, trial_id, NULL, &page, &json, &trial_error));
    for (const char *at = json; (at = json_find(at, "steps_completed")) != NULL;) count++;
    page.after = (int64_t)json_number(json_find(json, "next"));
    det_free(json);
  } while (page.after != 0);
  det_client_free(client);
  return count;
}
