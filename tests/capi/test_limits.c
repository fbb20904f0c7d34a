/* What the system gives no more of: file descriptors and threads. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>

#include "tests/capi/fixture.h"
#include "tests/storage_id.h"

/* Runs `body` with a limit of `count` more descriptors than are open; gives what it answers. */
static det_status with_descriptors(int count, det_status (*body)(struct fixture *),
                                   struct fixture *f) {
  struct rlimit before, low;
  int next = open("/dev/null", O_RDONLY); /* the lowest that is free */
  close(next);
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  low = before;
  low.rlim_cur = (rlim_t)(next + count);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
  det_status status = body(f);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  return status;
}

static det_status train(struct fixture *f) {
  const det_metric loss = {"loss", 0.5};
  det_status status = det_core_init(&f->options, &f->core, &f->err);
  if (status == DET_OK)
    status = det_train_report_training_metrics(det_core_train(f->core), 1, &loss, 1, &f->err);
  if (status == DET_OK) {
    char id[STORAGE_ID_SIZE];
    det_checkpoint_writer *store;
    det_checkpoint_context *checkpoint = det_core_checkpoint(f->core);
    status =
        det_checkpoint_writer_begin(checkpoint, "{\"steps_completed\": 1}", NULL, &store, &f->err);
    if (status == DET_OK) status = det_checkpoint_writer_commit(store, &f->err);
    if (status == DET_OK) snprintf(id, sizeof id, "%s", det_checkpoint_writer_id(store));
    if (status == DET_OK) status = det_checkpoint_delete(checkpoint, id, &f->err);
    det_checkpoint_writer_free(store);
  }
  if (status == DET_OK) status = det_core_close(f->core, DET_OUTCOME_OK, &f->err);
  det_core_free(f->core);
  f->core = NULL;
  return status;
}

static void too_few_descriptors_are_told_as_such(void **state) {
  struct fixture *f = *state;
  int failed = 0;
  f->options.external_id = "job";
  for (int count = 0;; ++count) {
    f->err = (det_error)DET_ERROR_INIT;
    f->core = NULL;
    det_status status = with_descriptors(count, train, f);
    if (status == DET_OK) break;
    ++failed;
    if (strstr(f->err.message, "ulimit -n") == NULL)
      fail_msg("with %d descriptors: %s: %s", count, det_status_name(status), f->err.message);
  }
  assert_true(failed > 3);
}

static void missing_threads_are_told_as_such(void **state) {
  struct fixture *f = *state;
  pthread_attr_t before, huge; /* no address space has room for such stacks */
  assert_int_equal(pthread_getattr_default_np(&before), 0);
  assert_int_equal(pthread_getattr_default_np(&huge), 0);
  assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 50), 0);
  assert_int_equal(pthread_setattr_default_np(&huge), 0);
  det_status status = det_core_init(&f->options, &f->core, &f->err);
  assert_int_equal(pthread_setattr_default_np(&before), 0);
  if (status != DET_E_FULL) fail_msg("%s: %s", det_status_name(status), f->err.message);
  assert_non_null(strstr(f->err.message, "ulimit -u"));
  start(f);
}

int test_limits(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup_home, teardown)
  const struct CMUnitTest tests[] = {
      CASE(too_few_descriptors_are_told_as_such),
      CASE(missing_threads_are_told_as_such),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
