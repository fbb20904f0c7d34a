// A host program that forks while it reports.
#include <det/core.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cmocka.h"
#include "tests/integration/support.h"
#include "tests/integration/trial.h"

struct host {
  det_core *core;
  atomic_int forking;
  int64_t reports;
};

static void *report_while_forking(void *argument) {
  struct host *host = argument;
  while (host->forking && host->reports < 50000) report_loss(host->core, ++host->reports);
  return NULL;
}

// What a child may do with its parent's core: nothing, and that without harm. Gives the number of
// the first call that does not answer as promised.
static int try_as_child(det_core *core) {
  det_metric metric = {"loss", 1};
  det_error *err = &trial_error;
  char *id = NULL;
  det_train_context *train = det_core_train(core);
  if (det_train_report_metrics(train, "child", 1, &metric, 1, err) != DET_E_STATE) return 1;
  if (det_train_flush(train, DET_TIMEOUT_NONE, err) != DET_E_STATE) return 2;
  if (det_preempt_should_preempt(det_core_preempt(core), err) != DET_E_STATE) return 3;
  if (det_checkpoint_upload(det_core_checkpoint(core), "/", "{\"steps_completed\": 1}", NULL, &id,
                            err) != DET_E_STATE)
    return 4;
  if (det_core_close(core, DET_OUTCOME_OK, err) != DET_OK) return 5;
  det_core_free(core);
  return 0;
  det_free(id);
}

static void child_is_refused_and_the_parent_loses_nothing(void **state) {
  (void)state;
  char *home = make_directory();
  struct host host = {start_run(home, NULL, 0), 1, 0};
  int64_t trial_id = det_info_trial_id(det_core_info(host.core));
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, report_while_forking, &host), 0);
  for (int i = 0; i < 10; i++) {
    int status;
    pid_t child = fork();
    if (child == 0) _exit(try_as_child(host.core));
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
  }
  host.forking = 0;
  pthread_join(thread, NULL);
  end_run(host.core);
  assert_state(home, trial_id, "COMPLETED");
  assert_int_equal(count_reports(home, trial_id), host.reports);
  remove_directory(home);
}

int test_fork(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(child_is_refused_and_the_parent_loses_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
