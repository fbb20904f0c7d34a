#include <math.h>
#include <sys/wait.h>

#include "tests/capi/fixture.h"
#include "tests/open_store.h"

static det_train_context *train_of(struct fixture *f) { return det_core_train(f->core); }

/* The reports of the trial as JSON text; the caller frees. */
static char *metrics_of(struct fixture *f, const char *group) {
  det_client *client;
  char *json;
  assert_ok(det_train_flush(train_of(f), 10000, &f->err));
  assert_ok(open_store(f->home, &client, &f->err));
  assert_ok(det_client_list_metrics(client, det_info_trial_id(det_core_info(f->core)), group, NULL,
                                    &json, &f->err));
  det_client_free(client);
  return json;
}

static void assert_has(char *json, const char *part) {
  if (strstr(json, part) == NULL) fail_msg("'%s' is not in %s", part, json);
}

static void a_report_reaches_the_store(void **state) {
  struct fixture *f = *state;
  const det_metric metrics[] = {{"loss", 0.5}, {"acc", 1}};
  assert_ok(det_train_report_training_metrics(train_of(f), 3, metrics, 2, &f->err));
  char *json = metrics_of(f, "training");
  assert_has(json, "\"loss\":0.5");
  assert_has(json, "\"steps_completed\":3");
  assert_has(json, "\"trial_run_id\":1");
  det_free(json);
}

static void a_report_may_say_when_and_whose(void **state) {
  struct fixture *f = *state;
  const det_metric loss = {"loss", 0.5};
  det_report report = DET_REPORT_INIT;
  report.steps_completed = 3;
  report.metrics = &loss;
  report.count = 1;
  report.time_us = INT64_C(981173106000007);
  report.rank = 700;
  assert_ok(det_train_report(train_of(f), &report, &f->err));
  report.group = "validation";
  report.metrics_json = "{\"confusion\": [1, 2]}";
  report.batch_metrics_json = "[{\"loss\": 1}]";
  report.time_us = 0;
  report.rank = 0;
  assert_ok(det_train_report(train_of(f), &report, &f->err));
  char *json = metrics_of(f, "training");
  assert_has(json, "\"rank\":700,\"time\":\"2001-02-03T04:05:06.000007+00:00\"");
  assert_has(json, "{\"loss\":0.5}");
  det_free(json);
  json = metrics_of(f, "validation");
  assert_has(json, "\"rank\":0,\"time\":\"20");
  assert_has(json, "\"confusion\":[1,2]");
  assert_has(json, "\"loss\":0.5");
  assert_has(json, "\"batch_metrics\":[{\"loss\":1");
  det_free(json);
}

static void reports_that_contradict_themselves_are_refused(void **state) {
  struct fixture *f = *state;
  const det_metric loss = {"loss", 0.5};
  const det_report good = {sizeof good, "mine", 1, &loss, 1, NULL, NULL, 0, 0, 0};
  assert_fails(det_train_report(train_of(f), NULL, &f->err), DET_E_INVALID, "report");
  assert_fails(det_train_report(NULL, &good, &f->err), DET_E_INVALID, "train");
  det_report bad = good;
  bad.rank = 65536;
  assert_fails(det_train_report(train_of(f), &bad, &f->err), DET_E_INVALID, "rank 65536");
  bad.rank = -1;
  assert_fails(det_train_report(train_of(f), &bad, &f->err), DET_E_INVALID, "rank -1");
  bad = good;
  bad.time_us = -5;
  assert_fails(det_train_report(train_of(f), &bad, &f->err), DET_E_INVALID, "time_us");
  bad = good;
  bad.metrics_json = "{\"loss\": 1}";
  assert_fails(det_train_report(train_of(f), &bad, &f->err), DET_E_INVALID, "'loss'");
  bad = good;
  bad.reserved = 1;
  assert_fails(det_train_report(train_of(f), &bad, &f->err), DET_E_UNSUPPORTED, "reserved");
  bad = good;
  bad.struct_size = 0;
  assert_fails(det_train_report(train_of(f), &bad, &f->err), DET_E_INVALID, "struct_size");
  char *json = metrics_of(f, "mine");
  assert_has(json, "\"metrics\":[]");
  det_free(json);
}

static void durable_reports_reach_the_store(void **state) {
  struct fixture *f = *state;
  f->options.durable_reports = 1;
  restart(f, DET_OUTCOME_OK);
  const det_metric loss = {"loss", 0.5};
  assert_ok(det_train_report_training_metrics(train_of(f), 1, &loss, 1, &f->err));
  char *json = metrics_of(f, "training");
  assert_has(json, "\"trial_run_id\":2");
  det_free(json);
}

static void nan_and_infinities_survive(void **state) {
  struct fixture *f = *state;
  const det_metric metrics[] = {{"a", NAN}, {"b", INFINITY}, {"c", -INFINITY}};
  assert_ok(det_train_report_validation_metrics(train_of(f), 1, metrics, 3, &f->err));
  char *json = metrics_of(f, "validation");
  assert_has(json, "\"a\":\"NaN\"");
  assert_has(json, "\"b\":\"Infinity\"");
  assert_has(json, "\"c\":\"-Infinity\"");
  det_free(json);
}

static void report_rejects_null_train_and_null_metrics(void **state) {
  struct fixture *f = *state;
  const det_metric loss = {"loss", 1};
  assert_fails(det_train_report_training_metrics(NULL, 1, &loss, 1, &f->err), DET_E_INVALID,
               "train must not be NULL");
  assert_fails(det_train_report_training_metrics(train_of(f), 1, NULL, 1, &f->err), DET_E_INVALID,
               "metrics must not be NULL");
  assert_fails(det_train_report_metrics(train_of(f), NULL, 1, &loss, 1, &f->err), DET_E_INVALID,
               "group must not be NULL");
  assert_fails(det_train_report_metrics_json(train_of(f), "g", 1, NULL, NULL, &f->err),
               DET_E_INVALID, "metrics_json must not be NULL");
}

static void report_rejects_names_that_are_no_names(void **state) {
  struct fixture *f = *state;
  char longest[257];
  memset(longest, 'x', 256);
  longest[256] = '\0';
  const det_metric null_name = {NULL, 1}, empty = {"", 1}, long_name = {longest, 1},
                   not_utf8 = {"\xff\xfe", 1};
  assert_fails(det_train_report_training_metrics(train_of(f), 1, &null_name, 1, &f->err),
               DET_E_INVALID, "name");
  assert_fails(det_train_report_training_metrics(train_of(f), 1, &empty, 1, &f->err), DET_E_INVALID,
               "name");
  assert_fails(det_train_report_training_metrics(train_of(f), 1, &long_name, 1, &f->err),
               DET_E_INVALID, "255");
  assert_fails(det_train_report_training_metrics(train_of(f), 1, &not_utf8, 1, &f->err),
               DET_E_INVALID, "UTF-8");
}

static void report_rejects_a_name_given_twice(void **state) {
  struct fixture *f = *state;
  const det_metric twice[] = {{"loss", 1}, {"acc", 1}, {"loss", 2}};
  assert_fails(det_train_report_training_metrics(train_of(f), 1, twice, 3, &f->err), DET_E_INVALID,
               "loss");
}

static void a_metric_that_clashes_keeps_its_first_value_and_is_told(void **state) {
  struct fixture *f = *state;
  const det_metric first = {"loss", 1}, second = {"loss", 2}, other = {"acc", 3};
  assert_ok(det_train_report_training_metrics(train_of(f), 5, &first, 1, &f->err));
  assert_ok(
      det_train_report_training_metrics(train_of(f), 5, &first, 1, &f->err)); /* equal: fine */
  assert_ok(det_train_report_training_metrics(train_of(f), 5, &other, 1, &f->err)); /* new key */
  assert_ok(det_train_flush(train_of(f), 10000, &f->err));
  assert_ok(det_train_report_training_metrics(train_of(f), 5, &second, 1, &f->err));
  assert_fails(det_train_flush(train_of(f), 10000, &f->err), DET_E_CONFLICT, "loss");
  assert_ok(det_train_flush(train_of(f), 10000, &f->err)); /* told once */
  char *json = metrics_of(f, "training");
  assert_null(strstr(json, "\"loss\":2"));
  assert_has(json, "\"acc\":3");
  det_free(json);
}

static void steps_going_back_are_refused_in_the_built_in_groups(void **state) {
  struct fixture *f = *state;
  const det_metric loss = {"loss", 1};
  assert_ok(det_train_report_training_metrics(train_of(f), 5, &loss, 1, &f->err));
  assert_ok(det_train_report_training_metrics(train_of(f), 5, &loss, 1, &f->err));
  assert_fails(det_train_report_training_metrics(train_of(f), 4, &loss, 1, &f->err), DET_E_INVALID,
               "went back from 5 to 4");
  assert_fails(det_train_report_metrics_json(train_of(f), "training", 4, "{}", NULL, &f->err),
               DET_E_INVALID, "went back from 5 to 4");
  assert_ok(det_train_report_validation_metrics(train_of(f), 2, &loss, 1, &f->err));
  assert_ok(det_train_report_metrics(train_of(f), "inference", 9, &loss, 1, &f->err));
  assert_ok(det_train_report_metrics(train_of(f), "inference", 2, &loss, 1, &f->err));
}

static void negative_steps_are_refused(void **state) {
  struct fixture *f = *state;
  const det_metric loss = {"loss", 1};
  assert_fails(det_train_report_training_metrics(train_of(f), -1, &loss, 1, &f->err), DET_E_INVALID,
               "-1");
  assert_fails(det_train_report_metrics(train_of(f), "g", -1, &loss, 1, &f->err), DET_E_INVALID,
               "-1");
}

static void groups_without_a_name_or_with_a_dot_are_refused(void **state) {
  struct fixture *f = *state;
  const det_metric loss = {"loss", 1};
  assert_fails(det_train_report_metrics(train_of(f), "", 1, &loss, 1, &f->err), DET_E_INVALID,
               "'.'");
  assert_fails(det_train_report_metrics(train_of(f), "a.b", 1, &loss, 1, &f->err), DET_E_INVALID,
               "a.b");
  assert_fails(det_train_report_metrics_json(train_of(f), "a.b", 1, "{}", NULL, &f->err),
               DET_E_INVALID, "a.b");
}

static void groups_that_are_not_utf8_are_refused(void **state) {
  struct fixture *f = *state;
  const det_metric loss = {"loss", 1};
  assert_fails(det_train_report_metrics(train_of(f), "caf\xe9", 1, &loss, 1, &f->err),
               DET_E_INVALID, "not UTF-8");
  assert_fails(det_train_report_metrics_json(train_of(f), "caf\xe9", 1, "{}", NULL, &f->err),
               DET_E_INVALID, "not UTF-8");
  assert_int_equal(det_train_report_metrics(train_of(f), "caf\xc3\xa9", 1, &loss, 1, &f->err),
                   DET_OK);
}

static void json_reports_keep_every_type_and_the_batches(void **state) {
  struct fixture *f = *state;
  assert_ok(det_train_report_metrics_json(train_of(f), "training", 2,
                                          "{\"name\": \"x\", \"none\": null, \"v\": NaN}",
                                          "[{\"loss\": 3}, {\"loss\": 4}]", &f->err));
  char *json = metrics_of(f, NULL);
  assert_has(json, "\"name\":\"x\"");
  assert_has(json, "\"none\":null");
  assert_has(json, "\"v\":\"NaN\"");
  assert_has(json, "\"batch_metrics\":[{\"loss\":3},{\"loss\":4}]");
  det_free(json);
}

static void json_reports_reject_what_is_no_object(void **state) {
  struct fixture *f = *state;
  assert_fails(det_train_report_metrics_json(train_of(f), "g", 1, "[1]", NULL, &f->err),
               DET_E_INVALID, "metrics_json");
  assert_fails(det_train_report_metrics_json(train_of(f), "g", 1, "{", NULL, &f->err),
               DET_E_INVALID, "metrics_json");
  assert_fails(det_train_report_metrics_json(train_of(f), "g", 1, "{}", "{}", &f->err),
               DET_E_INVALID, "batch_metrics_json");
  assert_fails(det_train_report_metrics_json(train_of(f), "g", 1, "{}", "[1]", &f->err),
               DET_E_INVALID, "batch_metrics_json");
}

static void a_null_validation_metric_is_refused_by_name(void **state) {
  struct fixture *f = *state;
  assert_fails(
      det_train_report_metrics_json(train_of(f), "validation", 1, "{\"acc\": null}", NULL, &f->err),
      DET_E_INVALID, "'acc' is null");
}

static void a_journal_at_its_limit_refuses_or_waits_but_loses_nothing(void **state) {
  struct fixture *f = *state;
  const det_metric loss = {"loss", 1};
  det_core_free(f->core);
  f->options.journal_limit = 1u << 19;
  f->options.journal_wait_ms = DET_TIMEOUT_NONE;
  start(f);
  int64_t accepted = 0;
  det_status status = DET_OK;
  for (int64_t step = 1; step <= 20000; ++step) {
    status = det_train_report_training_metrics(train_of(f), step, &loss, 1, &f->err);
    if (status == DET_OK) ++accepted;
    else assert_true(status == DET_E_FULL && f->err.retryable == 1);
  }
  assert_ok(det_train_flush(train_of(f), 60000, &f->err));
  det_client *client;
  det_client_page page = DET_CLIENT_PAGE_INIT;
  page.limit = 500; /* sanitizers look at the whole text in each strstr() */
  int64_t stored = 0;
  int more = 1;
  assert_ok(open_store(f->home, &client, &f->err));
  while (more == 1) {
    char *json;
    assert_ok(det_client_list_metrics(client, 2, NULL, &page, &json, &f->err));
    for (const char *at = json; (at = strstr(at, "\"steps_completed\"")) != NULL; ++at) ++stored;
    more = sscanf(strstr(json, "\"next\":"), "\"next\":%ld", &page.after);
    det_free(json);
  }
  det_client_free(client);
  assert_int_equal(stored, accepted);
}

static void status_progress_and_log_are_kept(void **state) {
  struct fixture *f = *state;
  det_client *client;
  char *json;
  assert_ok(det_train_set_status(train_of(f), "validating", &f->err));
  assert_ok(det_train_report_progress(train_of(f), 0.25, &f->err));
  assert_ok(det_train_log(train_of(f), DET_LOG_LEVEL_WARNING, "look here", &f->err));
  assert_ok(det_train_flush(train_of(f), 10000, &f->err));
  assert_ok(open_store(f->home, &client, &f->err));
  assert_ok(det_client_get_trial(client, 1, &json, &f->err));
  assert_has(json, "\"validating\"");
  assert_has(json, "\"progress\":0.25");
  det_free(json);
  assert_ok(det_client_list_logs(client, 1, NULL, &json, &f->err));
  assert_has(json, "look here");
  det_free(json);
  det_client_free(client);
}

static void status_progress_and_log_reject_bad_values(void **state) {
  struct fixture *f = *state;
  assert_fails(det_train_set_status(train_of(f), NULL, &f->err), DET_E_INVALID, "status");
  assert_fails(det_train_report_progress(train_of(f), -0.1, &f->err), DET_E_INVALID, "0 to 1");
  assert_fails(det_train_report_progress(train_of(f), 1.5, &f->err), DET_E_INVALID, "0 to 1");
  assert_fails(det_train_report_progress(train_of(f), NAN, &f->err), DET_E_INVALID, "0 to 1");
  assert_fails(det_train_log(train_of(f), 9, "x", &f->err), DET_E_INVALID, "level 9");
  char *big = malloc(70001);
  memset(big, 'x', 70000);
  big[70000] = '\0';
  assert_fails(det_train_log(train_of(f), DET_LOG_LEVEL_INFO, big, &f->err), DET_E_INVALID,
               "65536");
  free(big);
}

static void best_validation_follows_the_searcher_metric(void **state) {
  struct fixture *f = *state;
  double best = -1;
  assert_fails(det_train_get_experiment_best_validation(train_of(f), &best, &f->err),
               DET_E_NOT_FOUND, "searcher");
  assert_true(best == -1);
  det_core_free(f->core);
  f->options.config_json =
      "{\"searcher\": {\"name\": \"single\", \"metric\": \"acc\", \"smaller_is_better\": false}}";
  start(f);
  const det_metric values[] = {{"acc", 0.5}, {"acc", 0.9}, {"acc", 0.7}};
  for (int i = 0; i < 3; ++i)
    assert_ok(det_train_report_validation_metrics(train_of(f), i + 1, &values[i], 1, &f->err));
  assert_ok(det_train_get_experiment_best_validation(train_of(f), &best, &f->err));
  assert_true(best == 0.9);
}

static void metadata_is_there_in_the_next_run(void **state) {
  struct fixture *f = *state;
  char *json;
  assert_ok(det_train_get_metadata(train_of(f), &json, &f->err));
  assert_string_equal(json, "{}");
  det_free(json);
  assert_ok(det_train_set_metadata(train_of(f), "{\"a\": {\"b\": [1, \"x\"]}}", &f->err));
  assert_fails(det_train_set_metadata(train_of(f), "[1]", &f->err), DET_E_INVALID, "metadata_json");
  assert_fails(det_train_set_metadata(train_of(f), NULL, &f->err), DET_E_INVALID, "metadata_json");
  f->options.trial_id = det_info_trial_id(det_core_info(f->core));
  det_core_free(f->core);
  start(f);
  assert_ok(det_train_get_metadata(train_of(f), &json, &f->err));
  assert_string_equal(json, "{\"a\":{\"b\":[1,\"x\"]}}");
  det_free(json);
}

static void early_exit_is_reported_once_and_bad_reasons_are_refused(void **state) {
  struct fixture *f = *state;
  assert_fails(det_train_report_early_exit(train_of(f), 0, &f->err), DET_E_INVALID, "reason 0");
  assert_ok(det_train_report_early_exit(train_of(f), DET_EARLY_EXIT_REASON_INVALID_HP, &f->err));
  assert_ok(det_train_report_early_exit(train_of(f), DET_EARLY_EXIT_REASON_INVALID_HP, &f->err));
  assert_non_null(strstr(f->log, "reported before"));
}

static void a_forked_child_is_refused_and_the_parent_goes_on(void **state) {
  struct fixture *f = *state;
  const det_metric loss = {"loss", 1};
  assert_ok(det_train_report_training_metrics(train_of(f), 1, &loss, 1, &f->err));
  pid_t child = fork();
  if (child == 0) {
    det_status status = det_train_report_training_metrics(train_of(f), 2, &loss, 1, &f->err);
    det_status close = det_core_close(f->core, DET_OUTCOME_OK, &f->err);
    det_core_free(f->core);
    _exit(status == DET_E_STATE && close == DET_OK ? 0 : 1);
  }
  int end;
  waitpid(child, &end, 0);
  assert_int_equal(end, 0);
  assert_ok(det_train_report_training_metrics(train_of(f), 3, &loss, 1, &f->err));
  char *json = metrics_of(f, "training");
  assert_has(json, "\"steps_completed\":1");
  assert_has(json, "\"steps_completed\":3");
  assert_null(strstr(json, "\"steps_completed\":2"));
  det_free(json);
}

static void tensorboard_files_are_kept_without_asking(void **state) {
  struct fixture *f = *state;
  const det_metric loss = {"loss", 1};
  char *path, command[512];
  assert_ok(det_train_report_training_metrics(train_of(f), 1, &loss, 1, &f->err));
  assert_ok(det_train_flush(train_of(f), 10000, &f->err));
  assert_ok(det_train_get_tensorboard_path(train_of(f), &path, &f->err));
  assert_ok(det_core_close(f->core, DET_OUTCOME_OK, &f->err));
  snprintf(command, sizeof command, "ls '%s' | grep -q '^events.out.tfevents.'", path);
  assert_int_equal(system(command), 0);
  det_free(path);
}

static void traces_of_ranks_have_names_of_their_own(void **state) {
  char name[16] = "";
  (void)state;
  assert_int_equal(det_tensorboard_rank_aware_name("a/b.xplane.pb", 3, name, 15, NULL), -1);
  assert_string_equal(name, "");
  assert_int_equal(det_tensorboard_rank_aware_name("a/b.xplane.pb", 3, name, 16, NULL), 0);
  assert_string_equal(name, "a/b#3.xplane.pb");
  assert_int_equal(det_tensorboard_rank_aware_name("events", 3, name, 16, NULL), 0);
  assert_string_equal(name, "events");
  assert_int_equal(det_tensorboard_rank_aware_name(NULL, 3, name, 16, NULL), -1);
  assert_int_equal(det_tensorboard_rank_aware_name("events", 3, NULL, 16, NULL), -1);
}

static void tensorboard_upload_belongs_to_the_manual_mode(void **state) {
  struct fixture *f = *state;
  char *path, command[512];
  assert_fails(det_train_upload_tensorboard_files(train_of(f), NULL, NULL, NULL, &f->err),
               DET_E_STATE, "manual mode");
  det_core_free(f->core);
  f->options.tensorboard_mode = DET_TENSORBOARD_MODE_MANUAL;
  start(f);
  assert_ok(det_train_get_tensorboard_path(train_of(f), &path, &f->err));
  snprintf(command, sizeof command, "echo x > '%s/mine'", path);
  assert_int_equal(system(command), 0);
  assert_ok(det_train_upload_tensorboard_files(train_of(f), NULL, NULL, NULL, &f->err));
  snprintf(command, sizeof command, "find '%s' -name mine | grep -q tensorboard; rm -r '%s'",
           f->home, path);
  assert_int_equal(system(command), 0);
  det_free(path);
}

static det_region named(struct fixture *f, const char *name) {
  det_region region = 0;
  assert_ok(det_train_name_region(train_of(f), name, &region, &f->err));
  assert_true(region > 0);
  return region;
}

static void regions_begin_and_end(void **state) {
  struct fixture *f = *state;
  const det_region step = named(f, "step"), forward = named(f, "forward");
  assert_int_not_equal(step, forward);
  assert_int_equal(named(f, "step"), step);
  assert_ok(det_train_begin_region(train_of(f), step, &f->err));
  assert_ok(det_train_begin_region(train_of(f), forward, NULL));
  assert_ok(det_train_end_region(train_of(f), forward, NULL));
  assert_ok(det_train_end_region(train_of(f), step, &f->err));
  assert_fails(det_train_end_region(train_of(f), step, &f->err), DET_E_STATE, "'step'");
}

static void regions_reject_bad_arguments(void **state) {
  struct fixture *f = *state;
  det_train_context *train = train_of(f);
  det_region region = 7;
  assert_fails(det_train_name_region(NULL, "a", &region, &f->err), DET_E_INVALID, "train");
  assert_fails(det_train_name_region(train, NULL, &region, &f->err), DET_E_INVALID, "name");
  assert_int_equal(region, 0);
  assert_fails(det_train_name_region(train, "a", NULL, &f->err), DET_E_INVALID, "out");
  assert_fails(det_train_name_region(train, "a/b", &region, &f->err), DET_E_INVALID, "'/'");
  const det_region wrong[] = {INT32_MIN, -1, 0, 1, 256, 257, INT32_MAX};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    assert_fails(det_train_begin_region(train, wrong[i], &f->err), DET_E_INVALID, "no such region");
    assert_fails(det_train_end_region(train, wrong[i], &f->err), DET_E_INVALID, "no such region");
  }
  assert_fails(det_train_begin_region(NULL, 1, &f->err), DET_E_INVALID, "train");
  assert_fails(det_train_end_region(NULL, 1, &f->err), DET_E_INVALID, "train");
}

static void regions_of_a_closed_core_and_of_a_child(void **state) {
  struct fixture *f = *state;
  const det_region step = named(f, "step");
  assert_ok(det_train_begin_region(train_of(f), step, &f->err));
  pid_t child = fork();
  if (child == 0) {
    det_region region;
    _exit(det_train_begin_region(train_of(f), step, NULL) == DET_E_STATE &&
                  det_train_end_region(train_of(f), step, NULL) == DET_E_STATE &&
                  det_train_name_region(train_of(f), "new", &region, NULL) == DET_E_STATE
              ? 0
              : 1);
  }
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_ok(det_core_close(f->core, DET_OUTCOME_OK, &f->err));
  assert_fails(det_train_end_region(train_of(f), step, &f->err), DET_E_STATE, "close");
  assert_fails(det_train_begin_region(train_of(f), step, &f->err), DET_E_STATE, "close");
}

int test_train(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      CASE(a_report_reaches_the_store),
      CASE(a_report_may_say_when_and_whose),
      CASE(reports_that_contradict_themselves_are_refused),
      CASE(durable_reports_reach_the_store),
      CASE(nan_and_infinities_survive),
      CASE(report_rejects_null_train_and_null_metrics),
      CASE(report_rejects_names_that_are_no_names),
      CASE(report_rejects_a_name_given_twice),
      CASE(a_metric_that_clashes_keeps_its_first_value_and_is_told),
      CASE(steps_going_back_are_refused_in_the_built_in_groups),
      CASE(negative_steps_are_refused),
      CASE(groups_without_a_name_or_with_a_dot_are_refused),
      CASE(groups_that_are_not_utf8_are_refused),
      CASE(json_reports_keep_every_type_and_the_batches),
      CASE(json_reports_reject_what_is_no_object),
      CASE(a_null_validation_metric_is_refused_by_name),
      CASE(a_journal_at_its_limit_refuses_or_waits_but_loses_nothing),
      CASE(status_progress_and_log_are_kept),
      CASE(status_progress_and_log_reject_bad_values),
      CASE(best_validation_follows_the_searcher_metric),
      CASE(metadata_is_there_in_the_next_run),
      CASE(early_exit_is_reported_once_and_bad_reasons_are_refused),
      CASE(a_forked_child_is_refused_and_the_parent_goes_on),
      CASE(regions_begin_and_end),
      CASE(regions_reject_bad_arguments),
      CASE(regions_of_a_closed_core_and_of_a_child),
      CASE(tensorboard_files_are_kept_without_asking),
      CASE(tensorboard_upload_belongs_to_the_manual_mode),
      CASE(traces_of_ranks_have_names_of_their_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
