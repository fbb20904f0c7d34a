#include <signal.h>
#include <time.h>

#include "tests/capi/fixture.h"
#include "tests/open_store.h"

static det_preempt_context *preempt_of(struct fixture *f) { return det_core_preempt(f->core); }

/* Asks, without acknowledging, until the answer is yes. A signal is on its way for a moment. */
static void wait_for_the_signal(struct fixture *f) {
  for (int i = 0; i < 10000; ++i) {
    det_status status = det_preempt_should_preempt_no_ack(preempt_of(f), &f->err);
    if (status == DET_PREEMPTED) return;
    assert_int_equal(status, DET_OK);
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
  fail_msg("the signal never came");
}

static void control(struct fixture *f, det_client_action action) {
  det_client *client;
  assert_ok(open_store(f->home, &client, &f->err));
  assert_ok(det_client_control(client, DET_CLIENT_TARGET_TRIAL,
                               det_info_trial_id(det_core_info(f->core)), action, NULL, &f->err));
  det_client_free(client);
}

static void without_a_signal_the_answer_is_no(void **state) {
  struct fixture *f = *state;
  assert_int_equal(det_preempt_should_preempt(preempt_of(f), &f->err), DET_OK);
}

static void a_pause_from_outside_is_seen_and_stays(void **state) {
  struct fixture *f = *state;
  control(f, DET_CLIENT_ACTION_PAUSE);
  wait_for_the_signal(f);
  assert_int_equal(det_preempt_should_preempt(preempt_of(f), &f->err), DET_PREEMPTED);
  control(f, DET_CLIENT_ACTION_ACTIVATE); /* a pause cannot be withdrawn from the run that saw it */
  assert_int_equal(det_preempt_should_preempt(preempt_of(f), &f->err), DET_PREEMPTED);
  restart(f, DET_OUTCOME_OK);
  assert_int_equal(det_info_trial_run_id(det_core_info(f->core)), 2);
  assert_int_equal(det_preempt_should_preempt(preempt_of(f), &f->err), DET_OK);
}

static void the_exit_status_tells_whether_there_is_more_to_do(void **state) {
  struct fixture *f = *state;
  assert_int_equal(det_core_exit_status(NULL), 0);
  assert_int_equal(det_core_exit_status(f->core), 0);
  assert_ok(det_preempt_request(preempt_of(f)));
  assert_int_equal(det_core_exit_status(f->core), 0); /* nobody has heard of it */
  wait_for_the_signal(f);
  assert_int_equal(det_core_exit_status(f->core), DET_EXIT_PREEMPTED);
  assert_int_equal(det_preempt_should_preempt(preempt_of(f), &f->err), DET_PREEMPTED);
  assert_ok(det_core_close(f->core, DET_OUTCOME_OK, &f->err));
  assert_int_equal(det_core_exit_status(f->core), DET_EXIT_PREEMPTED);

  restart(f, DET_OUTCOME_OK);
  assert_int_equal(det_core_exit_status(f->core), 0);
  assert_ok(det_preempt_request(preempt_of(f)));
  wait_for_the_signal(f);
  det_searcher_op *operation;
  assert_ok(det_searcher_next(det_core_searcher(f->core), &operation, &f->err));
  assert_int_equal(det_core_exit_status(f->core), DET_EXIT_PREEMPTED);
  assert_ok(det_searcher_op_report_completed(operation, 0.5, &f->err));
  assert_int_equal(det_core_exit_status(f->core), 0); /* it was done before it stopped */
  assert_ok(det_core_close(f->core, DET_OUTCOME_ERROR, &f->err));
  assert_int_equal(det_core_exit_status(f->core), 1);
}

static void an_acknowledgement_without_a_signal_is_refused(void **state) {
  struct fixture *f = *state;
  assert_fails(det_preempt_acknowledge(preempt_of(f), &f->err), DET_E_STATE, "none is pending");
}

static void an_acknowledged_trial_is_paused_and_one_that_is_not_is_completed(void **state) {
  struct fixture *f = *state;
  det_client *client;
  char *json;
  control(f, DET_CLIENT_ACTION_PAUSE);
  wait_for_the_signal(f);
  assert_ok(det_preempt_acknowledge(preempt_of(f), &f->err));
  assert_ok(det_preempt_acknowledge(preempt_of(f), &f->err));
  assert_ok(det_core_close(f->core, DET_OUTCOME_OK, &f->err));
  assert_ok(open_store(f->home, &client, &f->err));
  assert_ok(det_client_get_trial(client, 1, &json, &f->err));
  assert_non_null(strstr(json, "\"state\":\"PAUSED\""));
  det_free(json);
  det_client_free(client);
}

static void a_request_of_the_program_itself_counts_as_a_signal(void **state) {
  struct fixture *f = *state;
  assert_int_equal(det_preempt_request(preempt_of(f)), DET_OK);
  assert_int_equal(det_preempt_should_preempt(preempt_of(f), &f->err), DET_PREEMPTED);
  assert_int_equal(det_preempt_request(NULL), DET_E_INVALID);
}

static volatile sig_atomic_t handled_by_host;
static void handler_of_the_host(int signal) {
  (void)signal;
  ++handled_by_host;
}

static void a_signal_of_the_system_feeds_the_flag_when_asked_for(void **state) {
  struct fixture *f = *state;
  struct sigaction ours = {.sa_handler = handler_of_the_host}, after;
  const int32_t signals[] = {SIGTERM, SIGUSR1};
  assert_int_equal(sigaction(SIGTERM, &ours, NULL), 0);
  f->options.preempt_signals = signals;
  f->options.preempt_signal_count = 2;
  start(f);
  handled_by_host = 0;
  raise(SIGTERM);
  assert_int_equal(handled_by_host, 1); /* the handler before is still called */
  wait_for_the_signal(f);
  assert_int_equal(det_preempt_should_preempt(preempt_of(f), &f->err), DET_PREEMPTED);
  assert_ok(det_core_close(f->core, DET_OUTCOME_OK, &f->err));
  assert_int_equal(sigaction(SIGTERM, NULL, &after), 0);
  assert_ptr_equal(after.sa_handler, handler_of_the_host); /* and back in place */
  signal(SIGTERM, SIG_DFL);
}

static void a_signal_reaches_every_core_that_asked(void **state) {
  struct fixture *f = *state;
  det_core *second;
  const int32_t signals[] = {SIGUSR1};
  f->options.preempt_signals = signals;
  f->options.preempt_signal_count = 1;
  start(f);
  assert_ok(det_core_init(&f->options, &second, &f->err));
  raise(SIGUSR1);
  wait_for_the_signal(f);
  for (int i = 0; i < 10000; ++i) {
    if (det_preempt_should_preempt(det_core_preempt(second), &f->err) == DET_PREEMPTED) break;
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
  assert_int_equal(det_preempt_should_preempt(det_core_preempt(second), &f->err), DET_PREEMPTED);
  det_core_free(second);
}

static void no_handler_is_installed_unless_asked(void **state) {
  struct fixture *f = *state;
  struct sigaction before[32], after;
  for (int number = 1; number < 32; ++number) sigaction(number, NULL, &before[number]);
  start(f);
  for (int number = 1; number < 32; ++number)
    if (sigaction(number, NULL, &after) == 0)
      assert_ptr_equal(after.sa_handler, before[number].sa_handler);
}

static void a_stack_trace_signal_prints_and_goes_on(void **state) {
  struct fixture *f = *state;
  char text[8192] = "";
  f->options.stack_trace_signal = SIGUSR2;
  start(f);
  int ends[2], before = dup(2);
  assert_int_equal(pipe(ends), 0);
  dup2(ends[1], 2);
  raise(SIGUSR2);
  dup2(before, 2);
  close(before);
  close(ends[1]);
  assert_true(read(ends[0], text, sizeof text - 1) > 0);
  close(ends[0]);
  assert_non_null(strstr(text, "stack of the interrupted thread"));
}

static void chief_only_answers_the_chief(void **state) {
  struct fixture *f = *state;
  f->options.preempt_mode = DET_PREEMPT_MODE_CHIEF_ONLY;
  start(f);
  assert_int_equal(det_preempt_should_preempt(preempt_of(f), &f->err), DET_OK);
  control(f, DET_CLIENT_ACTION_PAUSE);
  wait_for_the_signal(f);
}

static void workers_ask_master_answers_each_rank(void **state) {
  struct fixture *f = *state;
  f->options.preempt_mode = DET_PREEMPT_MODE_WORKERS_ASK_MASTER;
  start(f);
  assert_int_equal(det_preempt_should_preempt(preempt_of(f), &f->err), DET_OK);
  control(f, DET_CLIENT_ACTION_CANCEL);
  wait_for_the_signal(f);
}

static void null_handles_are_refused(void **state) {
  struct fixture *f = *state;
  const char *null_handle = "preempt must not be NULL";
  assert_fails(det_preempt_should_preempt(NULL, &f->err), DET_E_INVALID, null_handle);
  assert_fails(det_preempt_should_preempt_no_ack(NULL, &f->err), DET_E_INVALID, null_handle);
  assert_fails(det_preempt_acknowledge(NULL, &f->err), DET_E_INVALID, null_handle);
}

int test_preempt(void) {
#define CASE(name, begin) cmocka_unit_test_setup_teardown(name, begin, teardown)
  const struct CMUnitTest tests[] = {
      CASE(without_a_signal_the_answer_is_no, setup),
      CASE(a_pause_from_outside_is_seen_and_stays, setup),
      CASE(the_exit_status_tells_whether_there_is_more_to_do, setup),
      CASE(an_acknowledgement_without_a_signal_is_refused, setup),
      CASE(an_acknowledged_trial_is_paused_and_one_that_is_not_is_completed, setup),
      CASE(a_request_of_the_program_itself_counts_as_a_signal, setup),
      CASE(a_signal_of_the_system_feeds_the_flag_when_asked_for, setup_home),
      CASE(a_signal_reaches_every_core_that_asked, setup_home),
      CASE(no_handler_is_installed_unless_asked, setup_home),
      CASE(a_stack_trace_signal_prints_and_goes_on, setup_home),
      CASE(chief_only_answers_the_chief, setup_home),
      CASE(workers_ask_master_answers_each_rank, setup_home),
      CASE(null_handles_are_refused, setup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
