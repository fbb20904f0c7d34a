#include <math.h>
#include <stddef.h>
#include <sys/wait.h>

#include "tests/capi/checkpoint_files.h"
#include "tests/open_store.h"

/* A client of the fixture's store. */
static det_client *client_of(struct fixture *f) {
  det_client *client;
  assert_ok(open_store(f->home, &client, &f->err));
  return client;
}

static void a_store_that_is_not_there_is_not_made(void **state) {
  struct fixture *f = *state;
  det_client *client = (det_client *)f;
  assert_fails(open_store(f->home, &client, &f->err), DET_E_NOT_FOUND, f->home);
  assert_null(client);
  assert_fails(open_store(f->home, NULL, &f->err), DET_E_INVALID, "out");
}

static void lists_show_what_the_trial_did(void **state) {
  struct fixture *f = *state;
  det_client *client = client_of(f);
  char *json;
  assert_ok(det_client_list_experiments(client, NULL, &json, &f->err));
  assert_non_null(strstr(json, "\"experiments\":[{"));
  det_free(json);
  assert_ok(det_client_get_experiment(client, 1, &json, &f->err));
  assert_non_null(strstr(json, "\"id\":1"));
  det_free(json);
  assert_ok(det_client_list_trials(client, 1, NULL, &json, &f->err));
  assert_non_null(strstr(json, "\"trials\":[{"));
  det_free(json);
  assert_ok(det_client_get_trial(client, 1, &json, &f->err));
  assert_non_null(strstr(json, "\"runs\":[{"));
  det_free(json);
  det_client_free(client);
}

static void pages_walk_through_a_long_list(void **state) {
  struct fixture *f = *state;
  det_client *client = client_of(f);
  det_client_page page = DET_CLIENT_PAGE_INIT;
  for (int64_t step = 1; step <= 25; ++step) {
    const det_metric loss = {"loss", 1.0 / (double)step};
    assert_ok(det_train_report_training_metrics(det_core_train(f->core), step, &loss, 1, &f->err));
  }
  assert_ok(det_train_flush(det_core_train(f->core), 10000, &f->err));
  int reports = 0, pages = 0;
  page.limit = 10;
  for (;;) {
    char *json;
    assert_ok(det_client_list_metrics(client, 1, "training", &page, &json, &f->err));
    for (const char *at = json; (at = strstr(at, "\"steps_completed\"")) != NULL; ++at) ++reports;
    const char *next = strstr(json, "\"next\":");
    assert_non_null(next);
    int more = sscanf(next, "\"next\":%ld", &page.after);
    det_free(json);
    ++pages;
    if (more != 1) break;
  }
  assert_int_equal(reports, 25);
  assert_int_equal(pages, 3);
  char *json;
  assert_ok(det_client_list_metric_names(client, 1, &json, &f->err));
  assert_string_equal(json, "{\"training\":[\"loss\"]}");
  det_free(json);
  page.limit = -1;
  assert_fails(det_client_list_metrics(client, 1, NULL, &page, &json, &f->err), DET_E_INVALID,
               "page");
  assert_null(json);
  det_client_free(client);
}

static void a_metric_is_read_as_arrays(void **state) {
  struct fixture *f = *state;
  det_metric_series *series;
  det_client *client = client_of(f);
  for (int step = 1; step <= 2500; ++step) { /* several pages */
    const det_metric metrics[] = {{"loss", step == 7 ? NAN : step * 0.5}, {"other", 1}};
    assert_ok(
        det_train_report_training_metrics(det_core_train(f->core), step, metrics, 2, &f->err));
  }
  assert_ok(det_train_report_metrics_json(det_core_train(f->core), "training", 2501,
                                          "{\"loss\": \"text\"}", NULL, &f->err));
  assert_ok(det_train_flush(det_core_train(f->core), 10000, &f->err));
  assert_ok(det_client_get_metric_series(client, 1, "training", "loss", &series, &f->err));
  assert_int_equal(det_metric_series_count(series), 2500);
  for (int i = 0; i < 2500; ++i) {
    assert_int_equal(det_metric_series_steps_completed(series)[i], i + 1);
    if (i == 6) assert_true(isnan(det_metric_series_values(series)[i]));
    else assert_true(det_metric_series_values(series)[i] == (i + 1) * 0.5);
  }
  assert_true(det_metric_series_times_us(series)[2499] >= det_metric_series_times_us(series)[0]);
  assert_true(det_metric_series_times_us(series)[0] > INT64_C(1700000000000000));
  det_metric_series_free(series);
  assert_ok(det_client_get_metric_series(client, 1, "training", "none", &series, &f->err));
  assert_int_equal(det_metric_series_count(series), 0);
  det_metric_series_free(series);
  assert_fails(det_client_get_metric_series(client, 77, "training", "loss", &series, &f->err),
               DET_E_NOT_FOUND, "77");
  assert_null(series);
  assert_fails(det_client_get_metric_series(client, 1, NULL, "loss", &series, &f->err),
               DET_E_INVALID, "group");
  assert_int_equal(det_metric_series_count(NULL), 0);
  assert_null(det_metric_series_values(NULL));
  assert_null(det_metric_series_times_us(NULL));
  assert_null(det_metric_series_steps_completed(NULL));
  det_metric_series_free(NULL);
  det_client_free(client);
}

static void options_of_a_client_are_checked(void **state) {
  struct fixture *f = *state;
  det_client *client = (det_client *)f;
  det_client_options options = DET_CLIENT_OPTIONS_INIT;
  options.master = f->home;
  options.reserved = 1;
  assert_fails(det_client_open(&options, &client, &f->err), DET_E_UNSUPPORTED, "reserved");
  assert_null(client);
  options.reserved = 0;
  options.timeout_ms = -7;
  assert_fails(det_client_open(&options, &client, &f->err), DET_E_INVALID, "timeout_ms");
  options.timeout_ms = DET_TIMEOUT_NONE;
  assert_fails(det_client_open(&options, &client, &f->err), DET_E_INVALID, "timeout_ms");
  options.timeout_ms = DET_TIMEOUT_INFINITE;
  options.token = "t";
  options.user = "u";
  assert_fails(det_client_open(&options, &client, &f->err), DET_E_INVALID, "token");
  options.user = NULL;
  options.log_level = 9;
  assert_fails(det_client_open(&options, &client, &f->err), DET_E_INVALID, "log_level");
  options.log_level = DET_LOG_LEVEL_DEBUG;
  assert_ok(det_client_open(&options, &client, &f->err));
  det_client_free(client);
}

static void unknown_ids_are_not_found(void **state) {
  struct fixture *f = *state;
  det_client *client = client_of(f);
  char *json;
  const det_status missing = DET_E_NOT_FOUND;
  assert_fails(det_client_get_experiment(client, 9, &json, &f->err), missing, "9");
  assert_fails(det_client_get_trial(client, 9, &json, &f->err), missing, "9");
  assert_fails(det_client_best_trial(client, 9, &json, &f->err), missing, "9");
  assert_fails(det_client_hparam_importance(client, 9, &json, &f->err), missing, "9");
  assert_fails(det_client_collect_garbage(client, 9, 1, &json, &f->err), missing, "9");
  assert_fails(det_client_list_metrics(client, 9, NULL, NULL, &json, &f->err), missing, "9");
  assert_fails(det_client_list_metric_names(client, 9, &json, &f->err), missing, "9");
  assert_fails(det_client_list_logs(client, 9, NULL, &json, &f->err), missing, "9");
  assert_fails(det_client_get_checkpoint(client, "none", &json, &f->err), missing, "none");
  assert_fails(det_client_control(client, DET_CLIENT_TARGET_TRIAL, 9, DET_CLIENT_ACTION_PAUSE, NULL,
                                  &f->err),
               missing, "9");
  assert_fails(det_client_control(client, DET_CLIENT_TARGET_EXPERIMENT, 9, DET_CLIENT_ACTION_PAUSE,
                                  NULL, &f->err),
               missing, "9");
  det_client_free(client);
}

static void the_best_trial_is_that_with_the_best_validation(void **state) {
  struct fixture *f = *state;
  const det_metric loss = {"loss", 0.5};
  assert_ok(det_train_report_validation_metrics(det_core_train(f->core), 1, &loss, 1, &f->err));
  assert_ok(det_train_flush(det_core_train(f->core), 10000, &f->err));
  det_client *client = client_of(f);
  char *json;
  assert_ok(det_client_best_trial(client, 1, &json, &f->err));
  assert_non_null(strstr(json, "\"experiment_id\":1"));
  assert_non_null(strstr(json, "\"trial\":"));
  det_free(json);
  det_client_page page = DET_CLIENT_PAGE_INIT;
  page.by_metric = 1;
  assert_ok(det_client_list_trials(client, 1, &page, &json, &f->err));
  assert_non_null(strstr(json, "\"best_metric\""));
  det_free(json);
  assert_fails(det_client_list_trials(client, 0, &page, &json, &f->err), DET_E_INVALID,
               "one experiment");
  assert_fails(det_client_hparam_importance(client, 1, &json, &f->err), DET_E_STATE,
               "hyperparameters");
  assert_fails(det_client_collect_garbage(client, 1, 0, NULL, &f->err), DET_E_STATE, "ACTIVE");
  assert_ok(det_client_collect_garbage(client, 1, 1, &json, &f->err));
  assert_string_equal(json, "{\"checkpoints\":[],\"size\":0,\"failures\":0}");
  det_free(json);
  det_client_free(client);
}

static void lists_have_what_their_page_asks_for(void **state) {
  struct fixture *f = *state;
  det_client *client = client_of(f);
  const char *none = "{\"trials\":[],\"next\":null}";
  det_client_page page = DET_CLIENT_PAGE_INIT;
  char *json;
  page.running = 1;
  page.state = "active";
  assert_ok(det_client_list_trials(client, 0, &page, &json, &f->err));
  assert_non_null(strstr(json, "\"running\":true"));
  det_free(json);
  page.archived = 1;
  assert_ok(det_client_list_trials(client, 0, &page, &json, &f->err));
  assert_string_equal(json, none);
  det_free(json);
  page.archived = 2;
  page.tag = "none";
  assert_ok(det_client_list_trials(client, 0, &page, &json, &f->err));
  assert_string_equal(json, none);
  det_free(json);
  /* An old caller's struct ends before the filters. */
  page.struct_size = offsetof(det_client_page, state);
  assert_ok(det_client_list_trials(client, 0, &page, &json, &f->err));
  assert_non_null(strstr(json, "\"id\":1"));
  det_free(json);
  page = (det_client_page)DET_CLIENT_PAGE_INIT;
  page.archived = 3;
  assert_fails(det_client_list_experiments(client, &page, &json, &f->err), DET_E_INVALID, "0, 1");
  page.archived = 0;
  page.state = "RUNNING,DONE";
  assert_fails(det_client_list_experiments(client, &page, &json, &f->err), DET_E_INVALID, "DONE");
  page.state = "ACTIVE";
  assert_fails(det_client_list_logs(client, 1, &page, &json, &f->err), DET_E_INVALID, "page.state");
  assert_null(json);
  det_client_free(client);
}

static void what_people_type_is_found(void **state) {
  struct fixture *f = *state;
  det_client *client = client_of(f);
  char *json;
  assert_ok(det_client_find_trial(client, "1", &json, &f->err));
  assert_non_null(strstr(json, "\"id\":1"));
  det_free(json);
  assert_fails(det_client_find_trial(client, "9", &json, &f->err), DET_E_NOT_FOUND, "\"9\"");
  assert_fails(det_client_find_trial(client, "external:1", &json, &f->err), DET_E_NOT_FOUND,
               "external id \"1\"");
  assert_fails(det_client_find_trial(client, "", &json, &f->err), DET_E_INVALID, "empty");
  assert_fails(det_client_find_trial(client, NULL, &json, &f->err), DET_E_INVALID, "text");
  det_storage *storage = NULL;
  assert_fails(det_client_open_storage(client, "none", &storage, &f->err), DET_E_NOT_FOUND, "none");
  assert_fails(det_client_open_storage(client, NULL, &storage, &f->err), DET_E_INVALID,
               "storage_id");
  assert_fails(det_client_open_storage(client, "none", NULL, &f->err), DET_E_INVALID, "out");
  assert_null(storage);
  assert_fails(det_client_find_checkpoint(client, "abc", &json, &f->err), DET_E_INVALID, "4");
  assert_fails(det_client_find_checkpoint(client, "abcd", &json, &f->err), DET_E_NOT_FOUND, "abcd");
  assert_fails(det_client_find_checkpoint(client, NULL, &json, &f->err), DET_E_INVALID, "text");
  assert_null(json);
  det_client_free(client);
}

static void notes_are_kept_and_experiments_deleted(void **state) {
  struct fixture *f = *state;
  det_client *client = client_of(f);
  char *json;
  assert_ok(det_client_update_experiment(client, 1, "{\"notes\": \"fine\"}", NULL, &f->err));
  assert_ok(det_client_update_experiment(client, 1, "{\"tags\": [\"a\"]}", &json, &f->err));
  assert_non_null(strstr(json, "\"notes\":\"fine\",\"tags\":[\"a\"],\"archived\":false"));
  det_free(json);
  const char *garbage[] = {"", "{", "[]", "{\"tags\": 1}", "{\"x\": 1}", "\xff"};
  for (size_t i = 0; i < sizeof garbage / sizeof *garbage; ++i)
    assert_fails(det_client_update_experiment(client, 1, garbage[i], &json, &f->err), DET_E_INVALID,
                 "chang");
  assert_fails(det_client_update_experiment(client, 1, NULL, &json, &f->err), DET_E_INVALID,
               "changes_json");
  assert_fails(det_client_update_experiment(client, 9, "{}", &json, &f->err), DET_E_NOT_FOUND, "9");
  assert_fails(det_client_update_experiment(client, 1, "{\"archived\": true}", &json, &f->err),
               DET_E_STATE, "ACTIVE");
  assert_fails(det_client_delete_experiment(client, 1, &json, &f->err), DET_E_STATE, "ACTIVE");
  assert_fails(det_client_delete_experiment(client, 9, &json, &f->err), DET_E_NOT_FOUND, "9");
  assert_null(json);
  assert_ok(det_core_close(f->core, DET_OUTCOME_OK, &f->err));
  assert_ok(det_client_delete_experiment(client, 1, &json, &f->err));
  assert_string_equal(json,
                      "{\"experiment_id\":1,\"state\":\"DELETED\",\"checkpoints\":0,\"size\":0}");
  det_free(json);
  assert_fails(det_client_get_trial(client, 1, &json, &f->err), DET_E_NOT_FOUND, "1");
  det_client_free(client);
}

static void a_pinned_checkpoint_is_not_deleted(void **state) {
  struct fixture *f = *state;
  det_client *client = client_of(f);
  char *json, *id, source[512];
  snprintf(source, sizeof source, "%s/model", f->home);
  assert_int_equal(mkdir(source, 0700), 0);
  write_file(source, "weights", "w");
  assert_ok(det_checkpoint_upload(checkpoint_of(f), source, META, NULL, &id, &f->err));
  assert_ok(det_client_pin_checkpoint(client, id, 1, NULL, &f->err));
  assert_ok(det_client_pin_checkpoint(client, id, 1, &json, &f->err));
  assert_non_null(strstr(json, "\"pinned\":true"));
  det_free(json);
  assert_fails(det_client_delete_checkpoint(client, id, NULL, &f->err), DET_E_STATE, "is pinned");
  assert_fails(det_checkpoint_delete(checkpoint_of(f), id, &f->err), DET_E_STATE, "is pinned");
  assert_fails(det_client_pin_checkpoint(client, "none", 1, &json, &f->err), DET_E_NOT_FOUND,
               "none");
  assert_null(json);
  assert_fails(det_client_pin_checkpoint(client, NULL, 1, NULL, &f->err), DET_E_INVALID,
               "storage_id");
  assert_ok(det_client_pin_checkpoint(client, id, 0, &json, &f->err));
  assert_non_null(strstr(json, "\"pinned\":false"));
  det_free(json);
  assert_ok(det_client_delete_checkpoint(client, id, NULL, &f->err));
  assert_fails(det_client_pin_checkpoint(client, id, 1, &json, &f->err), DET_E_STATE, "DELETED");
  det_free(id);
  det_client_free(client);
}

static void steering_knows_its_targets_and_actions(void **state) {
  struct fixture *f = *state;
  det_client *client = client_of(f);
  assert_fails(det_client_control(client, 3, 1, DET_CLIENT_ACTION_PAUSE, NULL, &f->err),
               DET_E_INVALID, "target 3");
  assert_fails(det_client_control(client, DET_CLIENT_TARGET_TRIAL, 1, 9, NULL, &f->err),
               DET_E_INVALID, "action 9");
  det_client_free(client);
}

static void what_a_crashed_process_left_is_shipped_once(void **state) {
  struct fixture *f = *state;
  pid_t child = fork();
  if (child == 0) {
    det_core *core;
    const det_metric loss = {"loss", 0.125};
    if (det_core_init(&f->options, &core, &f->err) != DET_OK) _exit(1);
    if (det_train_report_training_metrics(det_core_train(core), 1, &loss, 1, &f->err) != DET_OK)
      _exit(2);
    _exit(0); /* no close */
  }
  int end;
  assert_int_equal(waitpid(child, &end, 0), child);
  assert_int_equal(end, 0);
  det_client *client = client_of(f);
  char *json;
  for (int i = 0; i < 2; ++i) {
    assert_ok(det_client_sync(client, &json, &f->err));
    assert_non_null(strstr(json, "\"journals\":"));
    det_free(json);
  }
  assert_ok(det_client_sync(client, NULL, &f->err));
  assert_ok(det_client_list_metrics(client, 1, NULL, NULL, &json, &f->err));
  const char *first = strstr(json, "0.125");
  assert_non_null(first);
  assert_null(strstr(first + 1, "0.125"));
  det_free(json);
  det_client_free(client);
}

static void null_handles_are_refused(void **state) {
  struct fixture *f = *state;
  char *json;
  const char *null_handle = "client must not be NULL";
  const det_status invalid = DET_E_INVALID;
  assert_fails(det_client_list_experiments(NULL, NULL, &json, &f->err), invalid, null_handle);
  assert_fails(det_client_get_experiment(NULL, 1, &json, &f->err), invalid, null_handle);
  assert_fails(det_client_list_trials(NULL, 1, NULL, &json, &f->err), invalid, null_handle);
  assert_fails(det_client_get_trial(NULL, 1, &json, &f->err), invalid, null_handle);
  assert_fails(det_client_best_trial(NULL, 1, &json, &f->err), invalid, null_handle);
  assert_fails(det_client_hparam_importance(NULL, 1, &json, &f->err), invalid, null_handle);
  assert_fails(det_client_collect_garbage(NULL, 1, 0, NULL, &f->err), invalid, null_handle);
  assert_fails(det_client_pin_checkpoint(NULL, "i", 1, NULL, &f->err), invalid, null_handle);
  assert_fails(det_client_list_metrics(NULL, 1, NULL, NULL, &json, &f->err), invalid, null_handle);
  assert_fails(det_client_list_metric_names(NULL, 1, &json, &f->err), invalid, null_handle);
  assert_fails(det_client_list_checkpoints(NULL, 1, NULL, &json, &f->err), invalid, null_handle);
  assert_fails(det_client_get_checkpoint(NULL, "i", &json, &f->err), invalid, null_handle);
  det_storage *storage = NULL;
  assert_fails(det_client_open_storage(NULL, "i", &storage, &f->err), invalid, null_handle);
  assert_null(storage);
  assert_fails(det_client_find_checkpoint(NULL, "abcd", &json, &f->err), invalid, null_handle);
  assert_fails(det_client_find_trial(NULL, "1", &json, &f->err), invalid, null_handle);
  assert_fails(det_client_update_experiment(NULL, 1, "{}", NULL, &f->err), invalid, null_handle);
  assert_fails(det_client_delete_experiment(NULL, 1, NULL, &f->err), invalid, null_handle);
  assert_fails(det_client_list_logs(NULL, 1, NULL, &json, &f->err), invalid, null_handle);
  assert_fails(det_client_control(NULL, 1, 1, 1, NULL, &f->err), invalid, null_handle);
  assert_fails(det_client_sync(NULL, NULL, &f->err), invalid, null_handle);
  det_client_free(NULL);
}

int test_client(void) {
#define CASE(name, begin) cmocka_unit_test_setup_teardown(name, begin, teardown)
  const struct CMUnitTest tests[] = {
      CASE(a_store_that_is_not_there_is_not_made, setup_home),
      CASE(lists_show_what_the_trial_did, setup),
      CASE(a_pinned_checkpoint_is_not_deleted, setup),
      CASE(pages_walk_through_a_long_list, setup),
      CASE(a_metric_is_read_as_arrays, setup),
      CASE(options_of_a_client_are_checked, setup),
      CASE(unknown_ids_are_not_found, setup),
      CASE(the_best_trial_is_that_with_the_best_validation, setup),
      CASE(lists_have_what_their_page_asks_for, setup),
      CASE(what_people_type_is_found, setup),
      CASE(notes_are_kept_and_experiments_deleted, setup),
      CASE(steering_knows_its_targets_and_actions, setup),
      CASE(what_a_crashed_process_left_is_shipped_once, setup_home),
      CASE(null_handles_are_refused, setup_home),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
