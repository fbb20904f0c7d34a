// A trial from the outside: paused by another process, stopped by a signal, ended without a close,
// and beside another one.
#include <det/core.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cmocka.h"
#include "tests/integration/support.h"
#include "tests/integration/trial.h"
#include "tests/storage_id.h"

static char *home;

static int setup(void **state) {
  (void)state;
  home = make_directory();
  return 0;
}

static int teardown(void **state) {
  (void)state;
  remove_directory(home);
  return 0;
}

static void pause_trial(int64_t trial_id) {
  det_client *client = open_client(home);
  must(det_client_control(client, DET_CLIENT_TARGET_TRIAL, trial_id, DET_CLIENT_ACTION_PAUSE, NULL,
                          &trial_error));
  det_client_free(client);
}

static void run_process_that_pauses(const int trial_ids[2]) {
  int64_t trial_id;
  close(trial_ids[1]);  // so that it ends with the test, should that fail
  if (read(trial_ids[0], &trial_id, sizeof trial_id) != sizeof trial_id) _exit(1);
  pause_trial(trial_id);
  _exit(0);
}

static void pause_from_another_process_stops_the_loop_and_the_next_run_goes_on(void **state) {
  (void)state;
  int trial_ids[2], status;
  assert_int_equal(pipe(trial_ids), 0);
  pid_t other = fork();  // before this process has any threads
  if (other == 0) run_process_that_pauses(trial_ids);

  det_core *core = start_run(home, "paused", 0);
  int64_t trial_id = det_info_trial_id(det_core_info(core));
  assert_int_equal(det_info_trial_run_id(det_core_info(core)), 1);
  assert_false(should_preempt(core));
  assert_int_equal(write(trial_ids[1], &trial_id, sizeof trial_id), sizeof trial_id);
  train_until_preempted(core);
  waitpid(other, &status, 0);
  assert_int_equal(status, 0);
  close(trial_ids[0]);
  close(trial_ids[1]);

  char id[STORAGE_ID_SIZE];
  save_steps(core, 7, id);
  end_run(core);
  assert_state(home, trial_id, "PAUSED");

  core = start_run(home, "paused", 0);
  const det_info *info = det_core_info(core);
  assert_int_equal(det_info_trial_id(info), trial_id);
  assert_int_equal(det_info_trial_run_id(info), 2);
  assert_string_equal(det_info_latest_checkpoint(info), id);
  assert_int_equal(det_info_steps_completed(info), 7);
  assert_false(should_preempt(core));
  end_run(core);
}

static void signal_of_the_option_stops_the_loop_and_the_trial_stays_active(void **state) {
  (void)state;
  det_core *core = start_run(home, NULL, SIGTERM);
  int64_t trial_id = det_info_trial_id(det_core_info(core));
  assert_false(should_preempt(core));
  raise(SIGTERM);
  train_until_preempted(core);
  end_run(core);
  assert_state(home, trial_id, "ACTIVE");  // nobody paused it: it is to be started again
}

static void read_handlers(void (*handlers[NSIG])(int)) {
  for (int number = 1; number < NSIG; number++) {
    struct sigaction action;
    handlers[number] = sigaction(number, NULL, &action) == 0 ? action.sa_handler : NULL;
  }
}

static void signal_handler_of_the_option_goes_with_the_close(void **state) {
  (void)state;
  void (*before[NSIG])(int) = {0}, (*during[NSIG])(int) = {0}, (*after[NSIG])(int) = {0};
  read_handlers(before);
  det_core *core = start_run(home, NULL, SIGUSR2); /* which has stopped no run before */
  read_handlers(during);
  end_run(core);
  read_handlers(after);
  assert_true(during[SIGUSR2] != before[SIGUSR2]);
  assert_memory_equal(before, after, sizeof before);
}

static void no_signal_handler_is_installed_without_the_option(void **state) {
  (void)state;
  void (*before[NSIG])(int) = {0}, (*during[NSIG])(int) = {0};
  read_handlers(before);
  det_core *core = start_run(home, NULL, 0);
  read_handlers(during);
  assert_memory_equal(before, during, sizeof before);
  end_run(core);
}

static void run_process_that_never_closes(int trial_ids) {
  det_core *core = start_run(home, "unclosed", 0);
  int64_t trial_id = det_info_trial_id(det_core_info(core));
  for (int64_t steps = 1; steps <= 5000; steps++) report_loss(core, steps);
  _exit(write(trial_ids, &trial_id, sizeof trial_id) != sizeof trial_id);
}

static void reports_of_a_process_that_never_closed_arrive_by_sync(void **state) {
  (void)state;
  int trial_ids[2], status;
  int64_t trial_id;
  assert_int_equal(pipe(trial_ids), 0);
  pid_t other = fork();
  if (other == 0) run_process_that_never_closes(trial_ids[1]);
  waitpid(other, &status, 0);
  assert_int_equal(status, 0);
  assert_int_equal(read(trial_ids[0], &trial_id, sizeof trial_id), sizeof trial_id);
  close(trial_ids[0]);
  close(trial_ids[1]);

  det_client *client = open_client(home);
  for (int times = 0; times < 2; times++) {
    must(det_client_sync(client, NULL, &trial_error));
    assert_int_equal(count_reports(home, trial_id), 5000);
  }
  det_client_free(client);
}

static void two_cores_in_one_process_are_independent(void **state) {
  (void)state;
  det_core *first = start_run(home, "first", 0), *second = start_run(home, "second", 0);
  int64_t first_id = det_info_trial_id(det_core_info(first));
  int64_t second_id = det_info_trial_id(det_core_info(second));
  assert_int_not_equal(first_id, second_id);
  report_loss(second, 1);
  pause_trial(first_id);
  train_until_preempted(first);
  assert_false(should_preempt(second));
  end_run(first);

  report_loss(second, 2);
  end_run(second);
  assert_int_equal(count_reports(home, second_id), 2);
  assert_state(home, first_id, "PAUSED");
  assert_state(home, second_id, "COMPLETED");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int test_lifecycle(void) {
  const struct CMUnitTest tests[] = {
      TEST(pause_from_another_process_stops_the_loop_and_the_next_run_goes_on),
      TEST(signal_of_the_option_stops_the_loop_and_the_trial_stays_active),
      TEST(signal_handler_of_the_option_goes_with_the_close),
      TEST(no_signal_handler_is_installed_without_the_option),
      TEST(reports_of_a_process_that_never_closed_arrive_by_sync),
      TEST(two_cores_in_one_process_are_independent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
