#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/capi/fixture.h"
#include "tests/patience.h"

static void init_rejects_null_out(void **state) {
  struct fixture *f = *state;
  assert_fails(det_core_init(&f->options, NULL, &f->err), DET_E_INVALID, "out must not be NULL");
}

static void init_leaves_out_null_on_failure(void **state) {
  struct fixture *f = *state;
  det_core *core = (det_core *)f;
  f->options.preempt_mode = 7;
  assert_fails(det_core_init(&f->options, &core, &f->err), DET_E_INVALID,
               "starting: preempt_mode 7 is unknown; give one of DET_PREEMPT_MODE_*");
  assert_null(core);
}

static void init_without_an_error_struct_still_answers(void **state) {
  struct fixture *f = *state;
  f->options.tensorboard_mode = -1;
  assert_int_equal(det_core_init(&f->options, &f->core, NULL), DET_E_INVALID);
}

static void init_names_the_option_that_is_not_json(void **state) {
  struct fixture *f = *state;
  f->options.config_json = "{";
  assert_fails(det_core_init(&f->options, &f->core, &f->err), DET_E_INVALID, "config_json");
  f->options.config_json = NULL;
  f->options.hparams_json = "[1]";
  assert_fails(det_core_init(&f->options, &f->core, &f->err), DET_E_INVALID, "hparams_json");
}

static void init_of_an_unknown_trial_says_so(void **state) {
  struct fixture *f = *state;
  f->options.trial_id = 77;
  assert_fails(det_core_init(&f->options, &f->core, &f->err), DET_E_NOT_FOUND, "77");
}

static void init_with_an_unknown_scheme_is_invalid(void **state) {
  struct fixture *f = *state;
  f->options.master = "ftp://host";
  assert_fails(det_core_init(&f->options, &f->core, &f->err), DET_E_INVALID, "ftp://host");
}

static void init_refuses_a_storage_dictionary_of_type_shared_fs(void **state) {
  struct fixture *f = *state;
  f->options.checkpoint_storage = "{\"type\": \"shared_fs\", \"host_path\": \"/tmp\"}";
  assert_fails(det_core_init(&f->options, &f->core, &f->err), DET_E_INVALID, "shared_fs");
}

static void init_refuses_a_name_that_is_not_utf8(void **state) {
  struct fixture *f = *state;
  f->options.name = "caf\xe9";
  assert_fails(det_core_init(&f->options, &f->core, &f->err), DET_E_INVALID, "not in UTF-8");
}

static void init_refuses_too_many_signals(void **state) {
  struct fixture *f = *state;
  int32_t signals[9] = {0};
  f->options.preempt_signals = signals;
  f->options.preempt_signal_count = 9;
  assert_fails(det_core_init(&f->options, &f->core, &f->err), DET_E_INVALID, "9");
  f->options.preempt_signal_count = (size_t)-1;
  assert_fails(det_core_init(&f->options, &f->core, &f->err), DET_E_INVALID, ": -1");
}

static void init_refuses_a_signal_that_cannot_be_handled(void **state) {
  struct fixture *f = *state;
  int32_t kill_signal = SIGKILL;
  f->options.preempt_signals = &kill_signal;
  f->options.preempt_signal_count = 1;
  assert_int_not_equal(det_core_init(&f->options, &f->core, &f->err), DET_OK);
  assert_non_null(strstr(f->err.message, "signal 9"));
  assert_null(f->core);
}

static void init_makes_the_first_run_of_a_new_trial(void **state) {
  struct fixture *f = *state;
  start(f);
  det_info *info = det_core_info(f->core);
  assert_int_equal(det_info_trial_id(info), 1);
  assert_int_equal(det_info_experiment_id(info), 1);
  assert_int_equal(det_info_trial_run_id(info), 1);
  assert_null(det_info_latest_checkpoint(info));
  assert_int_equal(det_info_on_cluster(info), 0);
}

static void a_second_start_without_identity_is_a_new_trial(void **state) {
  struct fixture *f = *state;
  start(f);
  assert_ok(det_core_close(f->core, DET_OUTCOME_OK, &f->err));
  det_core_free(f->core);
  start(f);
  assert_int_equal(det_info_trial_id(det_core_info(f->core)), 2);
}

static void a_start_with_the_same_external_id_continues_the_trial(void **state) {
  struct fixture *f = *state;
  f->options.external_id = "job-7";
  start(f);
  int64_t seed = det_info_trial_seed(det_core_info(f->core));
  assert_ok(det_core_close(f->core, DET_OUTCOME_ERROR, &f->err));
  det_core_free(f->core);
  start(f);
  det_info *info = det_core_info(f->core);
  assert_int_equal(det_info_trial_id(info), 1);
  assert_int_equal(det_info_trial_run_id(info), 2);
  assert_int_equal(det_info_trial_seed(info), seed);
}

static void a_trial_that_still_runs_is_not_started_twice(void **state) {
  struct fixture *f = *state;
  det_core *second;
  start(f);
  f->options.trial_id = 1;
  assert_fails(det_core_init(&f->options, &second, &f->err), DET_E_STATE, "trial 1");
  assert_int_equal(f->err.retryable, 1);
  assert_null(second);
}

static void *close_soon(void *core) {
  const struct timespec soon = {.tv_nsec = 300000000};
  nanosleep(&soon, NULL);
  det_core_close(core, DET_OUTCOME_OK, NULL);
  return NULL;
}

static void a_start_can_wait_for_the_run_before(void **state) {
  struct fixture *f = *state;
  det_core *second;
  pthread_t closing;
  start(f);
  f->options.trial_id = 1;
  f->options.run_wait_ms = 100;
  assert_fails(det_core_init(&f->options, &second, &f->err), DET_E_STATE,
               "this process already runs it");
  assert_int_equal(pthread_create(&closing, NULL, close_soon, f->core), 0);
  f->options.run_wait_ms = TEST_PATIENCE_MS;
  assert_ok(det_core_init(&f->options, &second, &f->err));
  pthread_join(closing, NULL);
  assert_int_equal(det_info_trial_run_id(det_core_info(second)), 2);
  det_core_free(second);
}

static void two_cores_in_one_process_are_two_trials(void **state) {
  struct fixture *f = *state;
  det_core *second;
  start(f);
  assert_ok(det_core_init(&f->options, &second, &f->err));
  assert_int_equal(det_info_trial_id(det_core_info(second)), 2);
  const det_metric loss = {"loss", 1};
  assert_ok(det_train_report_training_metrics(det_core_train(f->core), 1, &loss, 1, &f->err));
  assert_ok(det_train_report_training_metrics(det_core_train(second), 1, &loss, 1, &f->err));
  assert_ok(det_core_close(second, DET_OUTCOME_OK, &f->err));
  assert_ok(det_train_report_training_metrics(det_core_train(f->core), 2, &loss, 1, &f->err));
  assert_ok(det_train_flush(det_core_train(f->core), 10000, &f->err));
  det_core_free(second);
}

static void close_twice_does_nothing_the_second_time(void **state) {
  struct fixture *f = *state;
  start(f);
  assert_ok(det_core_close(f->core, DET_OUTCOME_OK, &f->err));
  assert_ok(det_core_close(f->core, DET_OUTCOME_ERROR, &f->err));
}

static void close_rejects_null_and_unknown_ends(void **state) {
  struct fixture *f = *state;
  assert_fails(det_core_close(NULL, DET_OUTCOME_OK, &f->err), DET_E_INVALID,
               "core must not be NULL");
  start(f);
  assert_fails(det_core_close(f->core, 5, &f->err), DET_E_INVALID,
               "closing: outcome 5 is unknown; give one of DET_OUTCOME_*");
}

static int32_t take_all(const char *path, void *user_data) {
  (void)path;
  (void)user_data;
  return 1;
}

static void every_call_after_close_answers_that_it_is_closed(void **state) {
  struct fixture *f = *state;
  start(f);
  det_searcher_op *op;
  assert_ok(det_searcher_next(det_core_searcher(f->core), &op, &f->err));
  assert_ok(det_core_close(f->core, DET_OUTCOME_OK, &f->err));

  const char *closed = "after det_core_close";
  const det_metric loss = {"loss", 1};
  char *id = NULL;
  char *text;
  double number;
  det_searcher_op *next;
  det_checkpoint_writer *store;
  det_checkpoint_reader *restore;
  det_train_context *train = det_core_train(f->core);
  det_checkpoint_context *checkpoint = det_core_checkpoint(f->core);
  det_preempt_context *preempt = det_core_preempt(f->core);
  det_searcher_context *searcher = det_core_searcher(f->core);
  det_profiler_context *profiler = det_core_profiler(f->core);
  const char *meta = "{\"steps_completed\": 1}";
  const det_status expected = DET_E_STATE;
  assert_fails(det_train_report_training_metrics(train, 1, &loss, 1, &f->err), expected, closed);
  assert_fails(det_train_report_validation_metrics(train, 1, &loss, 1, &f->err), expected, closed);
  assert_fails(det_train_report_metrics(train, "g", 1, &loss, 1, &f->err), expected, closed);
  assert_fails(det_train_report_metrics_json(train, "g", 1, "{}", NULL, &f->err), expected, closed);
  assert_fails(det_train_flush(train, 0, &f->err), expected, closed);
  assert_fails(det_train_set_status(train, "s", &f->err), expected, closed);
  assert_fails(det_train_report_progress(train, 0.5, &f->err), expected, closed);
  assert_fails(det_train_log(train, DET_LOG_LEVEL_INFO, "t", &f->err), expected, closed);
  assert_fails(det_train_report_early_exit(train, DET_EARLY_EXIT_REASON_INVALID_HP, &f->err),
               expected, closed);
  assert_fails(det_train_get_experiment_best_validation(train, &number, &f->err), expected, closed);
  assert_fails(det_train_set_metadata(train, "{}", &f->err), expected, closed);
  assert_fails(det_train_get_metadata(train, &text, &f->err), expected, closed);
  assert_fails(det_train_get_tensorboard_path(train, &text, &f->err), expected, closed);
  assert_fails(det_train_upload_tensorboard_files(train, NULL, NULL, NULL, &f->err), expected,
               closed);
  assert_fails(det_checkpoint_upload(checkpoint, f->home, meta, NULL, &id, &f->err), expected,
               closed);
  assert_fails(det_checkpoint_writer_begin(checkpoint, meta, NULL, &store, &f->err), expected,
               closed);
  const det_download_options all = {sizeof all, take_all, NULL, NULL, DET_DOWNLOAD_MODE_NO_SHARED,
                                    0};
  assert_fails(det_checkpoint_download(checkpoint, "id", f->home, &all, &f->err), expected, closed);
  assert_fails(det_checkpoint_reader_open(checkpoint, "id", NULL, &restore, &f->err), expected,
               closed);
  assert_fails(det_checkpoint_delete(checkpoint, "id", &f->err), expected, closed);
  assert_fails(det_checkpoint_get_metadata(checkpoint, "id", &text, &f->err), expected, closed);
  assert_fails(det_preempt_should_preempt(preempt, &f->err), expected, closed);
  assert_fails(det_preempt_should_preempt_no_ack(preempt, &f->err), expected, closed);
  assert_fails(det_preempt_acknowledge(preempt, &f->err), expected, closed);
  assert_int_equal(det_preempt_request(preempt), DET_E_STATE);
  assert_fails(det_searcher_configure(searcher, 0, 1, &f->err), expected, closed);
  assert_fails(det_searcher_next(searcher, &next, &f->err), expected, closed);
  assert_fails(det_searcher_acknowledge_out_of_ops(searcher, &f->err), expected, closed);
  assert_fails(det_searcher_op_report_progress(op, 1, &f->err), expected, closed);
  assert_fails(det_searcher_op_report_completed(op, 1, &f->err), expected, closed);
  assert_fails(det_profiler_on(profiler, 1, 10, &f->err), expected, closed);
  assert_fails(det_profiler_off(profiler, &f->err), expected, closed);
  assert_int_equal(det_info_trial_id(det_core_info(f->core)), 1); /* facts stay readable */
  det_free(id);
}

static void options_of_an_older_release_get_the_defaults_for_the_rest(void **state) {
  struct fixture *f = *state;
  det_core_options old = f->options;
  old.struct_size =
      offsetof(det_core_options, name); /* as if the fields from `name` were unknown */
  old.preempt_mode = 99;                /* garbage behind the end, never read */
  old.name = (const char *)1;
  assert_ok(det_core_init(&old, &f->core, &f->err));
}

static void options_of_a_newer_release_pass_while_its_new_fields_are_zero(void **state) {
  struct fixture *f = *state;
  struct {
    det_core_options options;
    int64_t new_field;
  } newer = {f->options, 0};
  newer.options.struct_size = sizeof newer;
  assert_ok(det_core_init(&newer.options, &f->core, &f->err));
  newer.new_field = 1;
  det_core *second;
  assert_fails(det_core_init(&newer.options, &second, &f->err), DET_E_UNSUPPORTED, "options");
}

static void options_may_be_text(void **state) {
  struct fixture *f = *state;
  char text[512];
  snprintf(
      text, sizeof text,
      "{\"master\": \"%s\", \"external_id\": \"by text\", \"hparams_json\": {\"lr\": 0.5},"
      " \"preempt_signals\": [\"SIGUSR2\", 12], \"journal_limit\": 1048576, \"close_wait_ms\": -1,"
      " \"preempt_mode\": \"CHIEF_ONLY\", \"capture_output\": false, \"durable_reports\": 1,"
      " \"log_level\": \"ERROR\", \"name\": null}",
      f->home);
  assert_ok(det_core_init_json(text, NULL, NULL, &f->core, &f->err));
  assert_true(det_info_hparam_double(det_core_info(f->core), "lr", 0) == 0.5);
  raise(SIGUSR2);
  while (det_preempt_should_preempt(det_core_preempt(f->core), &f->err) != DET_PREEMPTED)
    usleep(100);
  assert_ok(det_core_close(f->core, DET_OUTCOME_OK, &f->err));
  det_core_free(f->core);
  f->options.external_id = "by text";
  start(f);
  assert_int_equal(det_info_trial_run_id(det_core_info(f->core)), 2);
}

static void text_that_is_no_options_starts_nothing(void **state) {
  struct fixture *f = *state;
  const char *bad[][2] = {{"[]", "options_json"},
                          {"{", "options_json"},
                          {"{\"masters\": \"x\"}", "there is no 'masters'; there are"},
                          {"{\"master\": 5}", "'master' must be text"},
                          {"{\"trial_id\": 1.5}", "'trial_id' must be a whole number"},
                          {"{\"trial_id\": 18446744073709551615}", "'trial_id'"},
                          {"{\"capture_output\": 2}", "'capture_output' must be true or false"},
                          {"{\"log_level\": \"LOUD\"}", "\"WARNING\", \"ERROR\""},
                          {"{\"preempt_signals\": [\"SIGNOT\"]}", "a signal"},
                          {"{\"preempt_signals\": 15}", "a list of signals"},
                          {"{\"close_wait_ms\": -9}", "close_wait_ms"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    f->core = (det_core *)f;
    assert_fails(det_core_init_json(bad[i][0], NULL, NULL, &f->core, &f->err), DET_E_INVALID,
                 bad[i][1]);
    assert_null(f->core);
  }
  assert_fails(det_core_init_json(NULL, NULL, NULL, NULL, &f->err), DET_E_INVALID, "out");
}

static void a_zeroed_struct_means_the_defaults(void **state) {
  struct fixture *f = *state;
  det_core_options zeroed;
  memset(&zeroed, 0, sizeof zeroed);
  zeroed.struct_size = sizeof zeroed;
  zeroed.master = f->home;
  assert_ok(det_core_init(&zeroed, &f->core, &f->err));
}

static void timeouts_mean_the_same_everywhere(void **state) {
  struct fixture *f = *state;
  det_timeout *const each[] = {&f->options.journal_wait_ms, &f->options.close_wait_ms};
  const char *const names[] = {"journal_wait_ms", "close_wait_ms"};
  for (int i = 0; i < 2; ++i) {
    *each[i] = -3;
    assert_fails(det_core_init(&f->options, &f->core, &f->err), DET_E_INVALID, names[i]);
    *each[i] = INT64_MAX;
  }
  start(f);
  const det_metric loss = {"loss", 1};
  assert_ok(det_train_report_training_metrics(det_core_train(f->core), 1, &loss, 1, &f->err));
  assert_fails(det_train_flush(det_core_train(f->core), -3, &f->err), DET_E_INVALID, "timeout");
  assert_ok(det_train_flush(det_core_train(f->core), DET_TIMEOUT_DEFAULT, &f->err));
  assert_ok(det_train_flush(det_core_train(f->core), DET_TIMEOUT_INFINITE, &f->err));
  assert_ok(det_train_flush(det_core_train(f->core), DET_TIMEOUT_NONE, &f->err));
  assert_ok(det_core_close(f->core, DET_OUTCOME_OK, &f->err));
}

static void features_are_told(void **state) {
  (void)state;
  assert_int_equal(det_has_feature("http"), 1);
  assert_int_equal(det_has_feature("profiler"), 1);
  assert_int_equal(det_has_feature("s3"), 1);
  assert_int_equal(det_has_feature("gcs"), 1);
  assert_int_equal(det_has_feature("azure"), 1);
  assert_int_equal(det_has_feature("no such thing"), 0);
  assert_int_equal(det_has_feature(NULL), 0);
  assert_int_equal(det_version(), DET_VERSION_NUMBER);
#if DET_VERSION_NUMBER < 1000
#error "a release is at least 0.1.0"
#endif
}

static void options_without_a_size_are_refused(void **state) {
  struct fixture *f = *state;
  f->options.struct_size = 0;
  assert_fails(det_core_init(&f->options, &f->core, &f->err), DET_E_INVALID,
               "struct_size is not set; set it to the size of the struct");
}

static void options_of_an_absurd_size_are_refused_unread(void **state) {
  struct fixture *f = *state;
  const size_t sizes[] = {(size_t)1 << 30, SIZE_MAX};
  for (int i = 0; i < 2; ++i) {
    f->options.struct_size = sizes[i];
    assert_fails(det_core_init(&f->options, &f->core, &f->err), DET_E_INVALID, "struct_size");
  }
}

static void views_of_null_are_null(void **state) {
  (void)state;
  assert_null(det_core_info(NULL));
  assert_null(det_core_distributed(NULL));
  assert_null(det_core_checkpoint(NULL));
  assert_null(det_core_preempt(NULL));
  assert_null(det_core_train(NULL));
  assert_null(det_core_searcher(NULL));
  assert_null(det_core_profiler(NULL));
  det_core_free(NULL);
}

static void the_store_is_private_to_its_user(void **state) {
  struct fixture *f = *state;
  char path[128];
  struct stat about;
  start(f);
  snprintf(path, sizeof path, "%s/.detcore/store.db", f->home);
  assert_int_equal(stat(path, &about), 0);
  assert_int_equal(about.st_mode & 077, 0);
}

static void close_tells_that_the_store_was_deleted(void **state) {
  struct fixture *f = *state;
  const det_metric loss = {"loss", 1};
  char command[128];
  start(f);
  assert_int_equal(det_train_report_training_metrics(det_core_train(f->core), 1, &loss, 1, &f->err),
                   DET_OK);
  assert_int_equal(det_train_flush(det_core_train(f->core), -1, &f->err), DET_OK);
  snprintf(command, sizeof command, "rm -rf '%s/.detcore'", f->home);
  assert_int_equal(system(command), 0);
  assert_fails(det_core_close(f->core, DET_OUTCOME_OK, &f->err), DET_E_IO, "deleted");
}

int test_core(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup_home, teardown)
  const struct CMUnitTest tests[] = {
      CASE(init_rejects_null_out),
      CASE(init_leaves_out_null_on_failure),
      CASE(init_without_an_error_struct_still_answers),
      CASE(init_names_the_option_that_is_not_json),
      CASE(init_of_an_unknown_trial_says_so),
      CASE(init_with_an_unknown_scheme_is_invalid),
      CASE(init_refuses_a_storage_dictionary_of_type_shared_fs),
      CASE(init_refuses_a_name_that_is_not_utf8),
      CASE(init_refuses_too_many_signals),
      CASE(init_refuses_a_signal_that_cannot_be_handled),
      CASE(init_makes_the_first_run_of_a_new_trial),
      CASE(a_second_start_without_identity_is_a_new_trial),
      CASE(a_start_with_the_same_external_id_continues_the_trial),
      CASE(a_trial_that_still_runs_is_not_started_twice),
      CASE(a_start_can_wait_for_the_run_before),
      CASE(two_cores_in_one_process_are_two_trials),
      CASE(close_twice_does_nothing_the_second_time),
      CASE(close_rejects_null_and_unknown_ends),
      CASE(every_call_after_close_answers_that_it_is_closed),
      CASE(options_of_an_older_release_get_the_defaults_for_the_rest),
      CASE(options_of_a_newer_release_pass_while_its_new_fields_are_zero),
      CASE(options_may_be_text),
      CASE(text_that_is_no_options_starts_nothing),
      CASE(a_zeroed_struct_means_the_defaults),
      CASE(timeouts_mean_the_same_everywhere),
      CASE(features_are_told),
      CASE(options_without_a_size_are_refused),
      CASE(options_of_an_absurd_size_are_refused_unread),
      cmocka_unit_test(views_of_null_are_null),
      CASE(the_store_is_private_to_its_user),
      CASE(close_tells_that_the_store_was_deleted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
