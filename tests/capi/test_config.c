#include <det/config.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cmocka.h"

static const char *const good =
    "entrypoint: ./train\nsearcher: {name: single, metric: loss, max_length: {batches: 10}}\n";
static const char *const bad =
    "entrypoint: ./train\nsearcher: {name: single, metrics: loss, max_length: 1}\nfoo: 1\n";

static int set_home(void **state) {
  (void)state;
  unsetenv("DET_MASTER");
  return setenv("DET_HOME", "/data/store", 1);
}

/* What the call must say, which must be DET_OK. */
static void expect_text(det_status status, char **out, const char *words) {
  char *text = *out;
  assert_int_equal(status, DET_OK);
  if (strstr(text, words) == NULL) fail_msg("'%s' is not in '%s'", words, text);
  det_free(text);
}

static void check_tells_every_problem(void **state) {
  char *out;
  (void)state;
  assert_int_equal(det_config_check(bad, NULL, &out, NULL), DET_OK);
  assert_non_null(strstr(out,
                         "{\"path\":\"<config>.searcher\",\"kind\":\"unknown_key\","
                         "\"key\":\"metrics\",\"line\":2,"));
  assert_non_null(strstr(out, "did you mean 'metric'?"));
  assert_non_null(strstr(out, "\"severity\":\"error\""));
  assert_null(strstr(out, "warning"));
  assert_non_null(strstr(out,
                         "{\"path\":\"<config>\",\"kind\":\"unknown_key\",\"key\":\"foo\","
                         "\"line\":3,"));
  assert_non_null(strstr(out, "\"kind\":\"missing_required\",\"key\":\"metric\""));
  det_free(out);
}

static void check_of_a_complete_configuration_is_an_empty_list(void **state) {
  char *out;
  (void)state;
  assert_int_equal(det_config_check(good, NULL, &out, NULL), DET_OK);
  assert_string_equal(out, "[]");
  det_free(out);
}

static void check_warns_of_what_may_be_meant_otherwise(void **state) {
  char *out = NULL;
  (void)state;
  expect_text(det_config_check("debug: false\ndebug: true\n", NULL, &out, NULL), &out,
              "{\"path\":\"<config>\",\"kind\":\"repeated_key\",\"key\":\"debug\",\"line\":2,"
              "\"column\":null,"
              "\"message\":\"the key 'debug' is in line 1 already; this one counts\","
              "\"severity\":\"warning\"}");
}

static void check_takes_any_text(void **state) {
  char *out = NULL;
  (void)state;
  expect_text(det_config_check("", NULL, &out, NULL), &out, "expected an object, found null");
  expect_text(det_config_check("a: [", NULL, &out, NULL), &out, "\"kind\":\"yaml\",\"key\":null");
  expect_text(det_config_check("\xff\xfe", NULL, &out, NULL), &out, "UTF-8");
}

static void complete_fills_defaults_and_the_storage_of_the_store(void **state) {
  char *out = NULL;
  (void)state;
  expect_text(det_config_complete(good, NULL, &out, NULL), &out, "\"max_restarts\":5");
  expect_text(det_config_complete(good, NULL, &out, NULL), &out, "\"host_path\":\"/data/store\"");
}

static void complete_of_a_bad_configuration_fails_and_counts_the_problems(void **state) {
  char *out = (char *)state;
  det_error err = DET_ERROR_INIT;
  det_config_options options = DET_CONFIG_OPTIONS_INIT;
  options.file_name = "exp.yaml";
  assert_int_equal(det_config_complete(bad, &options, &out, &err), DET_E_INVALID);
  assert_null(out);
  assert_non_null(strstr(err.message, "exp.yaml:2: <config>.searcher: unknown key 'metrics'"));
  assert_non_null(strstr(err.message, "2 more problems"));
}

static void options_are_sources_of_lower_priority(void **state) {
  char *out = NULL;
  det_config_options options = DET_CONFIG_OPTIONS_INIT;
  (void)state;
  options.template_json = "{\"max_restarts\": 7, \"labels\": [\"t\"]}";
  options.pool_defaults_json = "{\"image\": \"pool\"}";
  options.workspace_storage_json = "{\"save_trial_best\": 9}";
  options.master_storage_json = "{\"type\": \"gcs\", \"bucket\": \"b\"}";
  for (const char *const *words =
           (const char *const[]){"\"max_restarts\":7", "[\"t\"]", "\"cpu\":\"pool\"",
                                 "\"bucket\":\"b\"", "\"save_trial_best\":9", NULL};
       *words != NULL; ++words)
    expect_text(det_config_complete(good, &options, &out, NULL), &out, *words);
  options.master_storage_json = NULL;
  options.master = "/other/store";
  expect_text(det_config_complete(good, &options, &out, NULL), &out, "\"/other/store\"");
  options.master_storage_json = "null";
  expect_text(det_config_check(good, &options, &out, NULL), &out, "checkpoint_storage");
}

static void rules_and_unmanaged_are_followed(void **state) {
  char *out = NULL;
  det_config_options options = DET_CONFIG_OPTIONS_INIT;
  (void)state;
  options.unmanaged = 1;
  options.rules = DET_CONFIG_RULES_0_38;
  expect_text(det_config_complete("searcher: {name: single, metric: m}", &options, &out, NULL),
              &out, "\"preemption_timeout\":3600");
}

static void wrong_arguments_are_named(void **state) {
  char *out = (char *)state;
  det_error err = DET_ERROR_INIT;
  det_config_options options = DET_CONFIG_OPTIONS_INIT;
  assert_int_equal(det_config_check(NULL, NULL, &out, &err), DET_E_INVALID);
  assert_null(out);
  assert_string_equal(err.message, "text must not be NULL");
  assert_int_equal(det_config_check(good, NULL, NULL, &err), DET_E_INVALID);
  options.rules = 2;
  assert_int_equal(det_config_complete(good, &options, &out, &err), DET_E_INVALID);
  assert_non_null(strstr(err.message, "rules"));
  options = (det_config_options)DET_CONFIG_OPTIONS_INIT;
  options.template_json = "[]";
  assert_int_equal(det_config_check(good, &options, &out, &err), DET_E_INVALID);
  assert_non_null(strstr(err.message, "template_json"));
}

static void options_of_another_size_are_read(void **state) {
  struct {
    det_config_options options;
    int64_t newer;
  } longer = {DET_CONFIG_OPTIONS_INIT, 0};
  char *out = NULL;
  det_config_options shorter = DET_CONFIG_OPTIONS_INIT;
  (void)state;
  longer.options.struct_size = sizeof longer;
  expect_text(det_config_check(good, &longer.options, &out, NULL), &out, "[]");
  longer.newer = 1;
  assert_int_equal(det_config_check(good, &longer.options, &out, NULL), DET_E_UNSUPPORTED);
  shorter.struct_size = offsetof(det_config_options, unmanaged);
  shorter.rules = 77;
  expect_text(det_config_check(good, &shorter, &out, NULL), &out, "[]");
}

int test_config(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(check_tells_every_problem),
      cmocka_unit_test(check_of_a_complete_configuration_is_an_empty_list),
      cmocka_unit_test(check_warns_of_what_may_be_meant_otherwise),
      cmocka_unit_test(check_takes_any_text),
      cmocka_unit_test(complete_fills_defaults_and_the_storage_of_the_store),
      cmocka_unit_test(complete_of_a_bad_configuration_fails_and_counts_the_problems),
      cmocka_unit_test(options_are_sources_of_lower_priority),
      cmocka_unit_test(rules_and_unmanaged_are_followed),
      cmocka_unit_test(wrong_arguments_are_named),
      cmocka_unit_test(options_of_another_size_are_read),
  };
  return cmocka_run_group_tests(tests, set_home, NULL);
}
