#include <math.h>

#include "tests/capi/fixture.h"

static int setup_hparams(void **state) {
  if (setup_home(state) != 0) return -1;
  struct fixture *f = *state;
  f->options.name = "facts";
  f->options.config_json =
      "{\"data\": {\"path\": \"/d\"}, \"reproducibility\": "
      "{\"experiment_seed\": 42}}";
  f->options.hparams_json =
      "{\"lr\": 0.5, \"layers\": 3, \"big\": 9223372036854775808, \"half\": 2.5, \"whole\": 4.0, "
      "\"on\": true, \"name\": \"adam\", \"optimizer\": {\"lr\": 0.25, \"deep\": {\"x\": 1}}, "
      "\"a.b\": 7, \"none\": null}";
  return det_core_init(&f->options, &f->core, &f->err) == DET_OK ? 0 : -1;
}

static det_info *info_of(struct fixture *f) { return det_core_info(f->core); }

static void hyperparameters_are_read_by_type(void **state) {
  struct fixture *f = *state;
  assert_true(det_info_hparam_double(info_of(f), "lr", 9) == 0.5);
  assert_true(det_info_hparam_double(info_of(f), "layers", 9) == 3);
  assert_int_equal(det_info_hparam_int(info_of(f), "layers", 9), 3);
  assert_int_equal(det_info_hparam_int(info_of(f), "whole", 9), 4);
  assert_int_equal(det_info_hparam_bool(info_of(f), "on", 0), 1);
  assert_string_equal(det_info_hparam_string(info_of(f), "name", "sgd"), "adam");
}

static void dots_step_into_groups_and_a_name_with_dots_comes_first(void **state) {
  struct fixture *f = *state;
  assert_true(det_info_hparam_double(info_of(f), "optimizer.lr", 9) == 0.25);
  assert_int_equal(det_info_hparam_int(info_of(f), "optimizer.deep.x", 9), 1);
  assert_int_equal(det_info_hparam_int(info_of(f), "a.b", 9), 7);
  assert_int_equal(det_info_hparam_int(info_of(f), "optimizer.missing", 9), 9);
}

static void names_can_be_walked(void **state) {
  struct fixture *f = *state;
  const det_info *info = info_of(f);
  int found = 0;
  assert_true(det_info_hparam_count(info) > 5);
  for (size_t i = 0; i < det_info_hparam_count(info); ++i) {
    char *json;
    assert_ok(det_info_get_hparam_json(info, det_info_hparam_name(info, i), &json, &f->err));
    det_free(json);
    found += strcmp(det_info_hparam_name(info, i), "optimizer.deep.x") == 0;
  }
  assert_int_equal(found, 1);
  assert_null(det_info_hparam_name(info, det_info_hparam_count(info)));
  assert_null(det_info_hparam_name(NULL, 0));
  assert_int_equal(det_info_hparam_count(NULL), 0);
}

static void a_required_text_is_copied_or_missed(void **state) {
  struct fixture *f = *state;
  char *text = f->home;
  assert_ok(det_info_get_hparam_string(info_of(f), "name", &text, &f->err));
  assert_string_equal(text, "adam");
  det_free(text);
  assert_fails(det_info_get_hparam_string(info_of(f), "missing", &text, &f->err), DET_E_NOT_FOUND,
               "missing");
  assert_null(text);
  assert_fails(det_info_get_hparam_string(info_of(f), "lr", &text, &f->err), DET_E_INVALID,
               "expected a text");
  assert_fails(det_info_get_hparam_string(info_of(f), "name", NULL, &f->err), DET_E_INVALID, "out");
}

static void absent_names_give_the_fallback_in_silence(void **state) {
  struct fixture *f = *state;
  const char *fallback = "sgd";
  assert_true(det_info_hparam_double(info_of(f), "momentum", 0.9) == 0.9);
  assert_ptr_equal(det_info_hparam_string(info_of(f), "opt", fallback), fallback);
  assert_ptr_equal(det_info_hparam_string(NULL, "opt", fallback), fallback);
  assert_int_equal(det_info_hparam_int(info_of(f), NULL, 5), 5);
  assert_string_equal(f->log, "");
}

static void a_wrong_type_gives_the_fallback_and_a_warning(void **state) {
  struct fixture *f = *state;
  assert_int_equal(det_info_hparam_int(info_of(f), "half", 8), 8);
  assert_non_null(strstr(f->log, "'half'"));
  assert_int_equal(det_info_hparam_int(info_of(f), "big", 8), 8);
  assert_int_equal(det_info_hparam_bool(info_of(f), "layers", 0), 0);
  assert_true(det_info_hparam_double(info_of(f), "name", 1.5) == 1.5);
  assert_true(det_info_hparam_double(info_of(f), "none", 1.5) == 1.5);
}

static void required_hyperparameters_explain_what_is_wrong(void **state) {
  struct fixture *f = *state;
  double number = 3;
  int64_t integer = 3;
  int32_t truth = 3;
  char *json;
  assert_ok(det_info_get_hparam_double(info_of(f), "lr", &number, &f->err));
  assert_true(number == 0.5);
  assert_ok(det_info_get_hparam_int(info_of(f), "layers", &integer, &f->err));
  assert_ok(det_info_get_hparam_bool(info_of(f), "on", &truth, &f->err));
  assert_ok(det_info_get_hparam_json(info_of(f), "optimizer", &json, &f->err));
  assert_string_equal(json, "{\"lr\":0.25,\"deep\":{\"x\":1}}");
  det_free(json);
  assert_fails(det_info_get_hparam_double(info_of(f), "momentum", &number, &f->err),
               DET_E_NOT_FOUND, "optimizer.lr");
  assert_fails(det_info_get_hparam_int(info_of(f), "half", &integer, &f->err), DET_E_INVALID,
               "2.5");
  assert_int_equal(integer, 3); /* untouched */
  assert_fails(det_info_get_hparam_bool(info_of(f), "name", &truth, &f->err), DET_E_INVALID,
               "true or false");
  assert_fails(det_info_get_hparam_json(info_of(f), "momentum", &json, &f->err), DET_E_NOT_FOUND,
               "momentum");
  assert_null(json);
  assert_fails(det_info_get_hparam_double(NULL, "lr", &number, &f->err), DET_E_INVALID, "info");
  assert_fails(det_info_get_hparam_double(info_of(f), NULL, &number, &f->err), DET_E_INVALID,
               "name");
  assert_fails(det_info_get_hparam_double(info_of(f), "lr", NULL, &f->err), DET_E_INVALID, "out");
}

static void facts_come_from_the_configuration(void **state) {
  struct fixture *f = *state;
  assert_int_equal(det_info_trial_seed(info_of(f)), 42);
  assert_string_equal(det_info_user_data_json(info_of(f)), "{\"path\":\"/d\"}");
  assert_non_null(strstr(det_info_json(info_of(f)), "\"trial_id\":1"));
  assert_non_null(strstr(det_info_hparams_json(info_of(f)), "\"layers\":3"));
  assert_non_null(strstr(det_info_config_json(info_of(f)), "experiment_seed"));
}

static void debug_and_the_network_interface_are_facts(void **state) {
  struct fixture *f = *state;
  det_core_free(f->core);
  setenv("DET_INTER_NODE_NETWORK_INTERFACE", "eth1", 1);
  f->options.config_json = "{\"debug\": true}";
  start(f);
  unsetenv("DET_INTER_NODE_NETWORK_INTERFACE");
  assert_non_null(strstr(det_info_json(info_of(f)), "\"debug\":true"));
  assert_non_null(strstr(det_info_json(info_of(f)), "\"inter_node_network_interface\":\"eth1\""));
}

static void a_restarted_trial_keeps_its_hyperparameters(void **state) {
  struct fixture *f = *state;
  f->options.hparams_json = NULL;
  restart(f, DET_OUTCOME_ERROR);
  assert_true(det_info_hparam_double(info_of(f), "optimizer.lr", 9) == 0.25);
  assert_int_equal(det_info_trial_seed(info_of(f)), 42);
}

static void constants_of_the_configuration_are_hyperparameters(void **state) {
  struct fixture *f = *state;
  det_core_free(f->core);
  f->options.hparams_json = NULL;
  f->options.config_json =
      "{\"hyperparameters\": {\"lr\": {\"type\": \"const\", \"val\": 0.1}, "
      "\"n\": 2, \"group\": {\"x\": {\"type\": \"const\", \"val\": 5}}}}";
  start(f);
  assert_true(det_info_hparam_double(info_of(f), "lr", 9) == 0.1);
  assert_int_equal(det_info_hparam_int(info_of(f), "n", 9), 2);
  assert_int_equal(det_info_hparam_int(info_of(f), "group.x", 9), 5);
}

static void a_search_space_needs_a_search(void **state) {
  struct fixture *f = *state;
  det_core *core;
  f->options.hparams_json = NULL;
  f->options.config_json =
      "{\"hyperparameters\": {\"lr\": {\"type\": \"double\", \"minval\": 0, \"maxval\": 1}}}";
  assert_fails(det_core_init(&f->options, &core, &f->err), DET_E_INVALID, "lr");
}

static void null_info_answers_nothing(void **state) {
  (void)state;
  assert_int_equal(det_info_trial_id(NULL), 0);
  assert_int_equal(det_info_experiment_id(NULL), 0);
  assert_int_equal(det_info_trial_run_id(NULL), 0);
  assert_int_equal(det_info_trial_seed(NULL), 0);
  assert_int_equal(det_info_steps_completed(NULL), 0);
  assert_int_equal(det_info_on_cluster(NULL), 0);
  assert_null(det_info_latest_checkpoint(NULL));
  assert_string_equal(det_info_hparams_json(NULL), "{}");
  assert_string_equal(det_info_config_json(NULL), "{}");
  assert_string_equal(det_info_user_data_json(NULL), "{}");
  assert_string_equal(det_info_json(NULL), "{}");
}

int test_info(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup_hparams, teardown)
  const struct CMUnitTest tests[] = {
      CASE(hyperparameters_are_read_by_type),
      CASE(dots_step_into_groups_and_a_name_with_dots_comes_first),
      CASE(names_can_be_walked),
      CASE(a_required_text_is_copied_or_missed),
      CASE(absent_names_give_the_fallback_in_silence),
      CASE(a_wrong_type_gives_the_fallback_and_a_warning),
      CASE(required_hyperparameters_explain_what_is_wrong),
      CASE(facts_come_from_the_configuration),
      CASE(debug_and_the_network_interface_are_facts),
      CASE(a_restarted_trial_keeps_its_hyperparameters),
      CASE(constants_of_the_configuration_are_hyperparameters),
      CASE(a_search_space_needs_a_search),
      cmocka_unit_test(null_info_answers_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
