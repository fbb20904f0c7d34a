/* A host with one thread: its callbacks run there only, also while that thread is in the library.
 */
#include <poll.h>
#include <pthread.h>
#include <time.h>

#include "tests/capi/fixture.h"

/* The thread of the host, when it is not in a call. */
static struct loop {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  pthread_t thread;
  int turning;
  int called;
} loop = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0};

static void callback_in_the_loop(const det_log_line *line, void *user_data) {
  pthread_mutex_lock(&loop.mutex);
  if (!pthread_equal(pthread_self(), loop.thread))
    while (!loop.turning) pthread_cond_wait(&loop.changed, &loop.mutex);
  ++loop.called;
  keep_log(line, user_data);
  pthread_cond_broadcast(&loop.changed);
  pthread_mutex_unlock(&loop.mutex);
}

static void turn_until_called(int count) {
  pthread_mutex_lock(&loop.mutex);
  loop.turning = 1;
  pthread_cond_broadcast(&loop.changed);
  while (loop.called < count) pthread_cond_wait(&loop.changed, &loop.mutex);
  loop.turning = 0;
  pthread_mutex_unlock(&loop.mutex);
}

/* Two values for one step make a warning, on the thread that delivers. */
static void report_a_conflict(struct fixture *f) {
  for (int i = 0; i < 2; ++i) {
    const det_metric loss = {"loss", i};
    assert_ok(det_train_report_training_metrics(det_core_train(f->core), 1, &loss, 1, &f->err));
  }
}

static void delivery_does_not_wait_for_a_callback(void **state) {
  struct fixture *f = *state;
  loop.thread = pthread_self();
  loop.turning = loop.called = 0;
  f->options.log = callback_in_the_loop;
  start(f);
  report_a_conflict(f);
  assert_fails(det_train_flush(det_core_train(f->core), 10000, &f->err), DET_E_CONFLICT, "loss");
  const det_metric loss = {"loss", 2};
  assert_ok(det_train_report_training_metrics(det_core_train(f->core), 2, &loss, 1, &f->err));
  assert_ok(det_train_flush(det_core_train(f->core), 10000, &f->err));
  turn_until_called(1);
  assert_ok(det_core_close(f->core, DET_OUTCOME_OK, &f->err));
  assert_non_null(strstr(f->log, "loss"));
}

static void lines_are_there_after_the_close(void **state) {
  struct fixture *f = *state;
  start(f);
  report_a_conflict(f);
  assert_int_equal(det_core_close(f->core, DET_OUTCOME_OK, NULL), DET_E_CONFLICT);
  assert_non_null(strstr(f->log, "loss"));
}

static int is_readable(const det_log_queue *queue) {
  struct pollfd watched = {det_log_queue_fd(queue), POLLIN, 0};
  return poll(&watched, 1, 0);
}

static void queue_gives_the_lines_to_who_takes_them(void **state) {
  struct fixture *f = *state;
  const time_t before = time(NULL) - 1;
  det_log_queue *queue;
  det_log_line *line;
  assert_ok(det_log_queue_create(&queue, &f->err));
  f->options.log = NULL;
  f->options.log_queue = queue;
  start(f);
  assert_int_equal(det_log_queue_take(queue, &line, &f->err), DET_DONE);
  assert_null(line);
  assert_int_equal(is_readable(queue), 0);
  report_a_conflict(f);
  assert_fails(det_train_flush(det_core_train(f->core), 10000, &f->err), DET_E_CONFLICT, "loss");
  assert_int_equal(is_readable(queue), 1);
  assert_ok(det_log_queue_take(queue, &line, &f->err));
  assert_int_equal(line->struct_size, sizeof *line);
  assert_int_equal(line->level, DET_LOG_LEVEL_WARNING);
  assert_string_equal(line->source, "journal");
  assert_int_equal(line->rank, 0);
  assert_true(line->time_us > 1000000 * (int64_t)before && line->time_us < INT64_C(1) << 60);
  assert_non_null(strstr(line->message, "loss"));
  det_free(line);
  assert_int_equal(det_log_queue_take(queue, &line, &f->err), DET_DONE);
  assert_int_equal(is_readable(queue), 0);
  det_log_queue_free(queue);
  report_a_conflict(f); /* the core goes on */
}

static void queue_outlives_its_cores(void **state) {
  struct fixture *f = *state;
  det_log_queue *queue;
  det_log_line *line;
  assert_ok(det_log_queue_create(&queue, &f->err));
  f->options.log = NULL;
  f->options.log_queue = queue;
  for (int i = 0; i < 2; ++i) {
    start(f);
    report_a_conflict(f);
    det_core_free(f->core);
    f->core = NULL;
  }
  for (int i = 0; i < 2; ++i) {
    assert_ok(det_log_queue_take(queue, &line, &f->err));
    assert_non_null(strstr(line->message, "loss"));
    det_free(line);
  }
  det_log_queue_free(queue);
}

static void count_destroys(void *user_data) { ++*(int *)user_data; }

static void ignore_line(const det_log_line *line, void *user_data) { (void)line, (void)user_data; }

static void user_data_is_released_once(void **state) {
  struct fixture *f = *state;
  int destroys = 0;
  f->options.log = ignore_line;
  f->options.log_user_data = &destroys;
  f->options.log_destroy = count_destroys;
  start(f);
  assert_ok(det_core_close(f->core, DET_OUTCOME_OK, &f->err));
  assert_int_equal(destroys, 0);
  det_core_free(f->core);
  f->core = NULL;
  assert_int_equal(destroys, 1);
  f->options.log_level = 99;
  assert_fails(det_core_init(&f->options, &f->core, &f->err), DET_E_INVALID, "log_level 99");
  assert_int_equal(destroys, 2);
  f->options.log_level = DET_LOG_LEVEL_DEFAULT;
  assert_fails(det_core_init(&f->options, NULL, &f->err), DET_E_INVALID, "out");
  assert_int_equal(destroys, 3);
  f->options.log = NULL; /* nothing to call is no reason to keep it */
  start(f);
  det_core_free(f->core);
  f->core = NULL;
  assert_int_equal(destroys, 4);
}

static void user_data_is_released_while_a_checkpoint_is_open(void **state) {
  struct fixture *f = *state;
  int destroys = 0;
  det_checkpoint_writer *store;
  f->options.log = ignore_line;
  f->options.log_user_data = &destroys;
  f->options.log_destroy = count_destroys;
  start(f);
  assert_ok(det_checkpoint_writer_begin(det_core_checkpoint(f->core), "{\"steps_completed\": 1}",
                                        NULL, &store, &f->err));
  det_core_free(f->core);
  f->core = NULL;
  assert_int_equal(destroys, 1);
  det_checkpoint_writer_free(store);
}

static void bad_arguments_are_refused(void **state) {
  struct fixture *f = *state;
  det_log_queue *queue;
  det_log_line *line = (det_log_line *)f;
  assert_fails(det_log_queue_create(NULL, &f->err), DET_E_INVALID, "out must not be NULL");
  assert_fails(det_log_queue_take(NULL, &line, &f->err), DET_E_INVALID, "queue must not be NULL");
  assert_null(line);
  assert_ok(det_log_queue_create(&queue, &f->err));
  assert_fails(det_log_queue_take(queue, NULL, &f->err), DET_E_INVALID, "out must not be NULL");
  f->options.log_queue = queue; /* beside a callback */
  assert_fails(det_core_init(&f->options, &f->core, &f->err), DET_E_INVALID,
               "log and log_queue are both given");
  det_log_queue_free(queue);
  det_log_queue_free(NULL);
  assert_int_equal(det_log_queue_fd(NULL), -1);
}

int test_log(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup_home, teardown)
  const struct CMUnitTest tests[] = {
      CASE(delivery_does_not_wait_for_a_callback),
      CASE(lines_are_there_after_the_close),
      CASE(queue_gives_the_lines_to_who_takes_them),
      CASE(queue_outlives_its_cores),
      CASE(user_data_is_released_once),
      CASE(user_data_is_released_while_a_checkpoint_is_open),
      CASE(bad_arguments_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
