#include <det/trial.h>

#include "tests/capi/fixture.h"

static const char *config =
    "{\"searcher\": {\"name\": \"single\", \"metric\": \"loss\", \"max_length\": {\"batches\": 5}},"
    " \"scheduling_unit\": 3}";
static const char *trained = "{\"metrics\": {\"avg_metrics\": {\"loss\": 1}}}";
static const char *validated = "{\"metrics\": {\"validation_metrics\": {\"loss\": 0.5}}}";

static int setup_length_5(void **state) {
  if (setup_home(state) != 0) return -1;
  struct fixture *f = *state;
  f->options.config_json = config;
  return det_core_init(&f->options, &f->core, &f->err) == DET_OK ? 0 : -1;
}

static det_trial_sequencer *sequencer_of(struct fixture *f) {
  det_trial_sequencer *sequencer;
  assert_ok(det_trial_sequencer_create(f->core, NULL, 4, &sequencer, &f->err));
  return sequencer;
}

static void expect_next(struct fixture *f, det_trial_sequencer *sequencer, det_workload_kind kind,
                        int64_t batches, int64_t done) {
  det_workload next = DET_WORKLOAD_INIT;
  assert_ok(det_trial_sequencer_next(sequencer, &next, &f->err));
  assert_int_equal(next.kind, kind);
  assert_int_equal(next.batches, batches);
  assert_int_equal(next.batches_done, done);
}

static void a_run_goes_through_its_workloads_and_a_restart_goes_on(void **state) {
  struct fixture *f = *state;
  det_workload next = DET_WORKLOAD_INIT;
  char *saved;
  det_trial_sequencer *sequencer = sequencer_of(f);
  expect_next(f, sequencer, DET_WORKLOAD_TRAIN, 3, 0);
  assert_fails(det_trial_sequencer_next(sequencer, &next, &f->err), DET_E_STATE, "no response");
  assert_ok(det_trial_sequencer_respond(sequencer, trained, &f->err));
  expect_next(f, sequencer, DET_WORKLOAD_TRAIN, 2, 3);
  assert_ok(det_trial_sequencer_respond(sequencer, trained, &f->err));
  expect_next(f, sequencer, DET_WORKLOAD_CHECKPOINT, 0, 5);
  assert_ok(det_trial_sequencer_state(sequencer, &saved, &f->err));
  assert_non_null(strstr(saved, "\"last_ckpt\":5"));
  det_trial_sequencer_free(sequencer);

  restart(f, DET_OUTCOME_ERROR);
  sequencer = sequencer_of(f);
  assert_ok(det_trial_sequencer_load_state(sequencer, saved, &f->err));
  det_free(saved);
  expect_next(f, sequencer, DET_WORKLOAD_VALIDATE, 0, 5);
  assert_fails(det_trial_sequencer_respond(sequencer, trained, &f->err), DET_E_INVALID,
               "validation_metrics");
  assert_ok(det_trial_sequencer_respond(sequencer, validated, &f->err));
  assert_int_equal(det_trial_sequencer_next(sequencer, &next, &f->err), DET_DONE);
  assert_int_equal(det_trial_sequencer_next(sequencer, &next, &f->err), DET_DONE);
  assert_fails(det_trial_sequencer_respond(sequencer, validated, &f->err), DET_E_STATE,
               "no workload");
  assert_fails(det_trial_sequencer_load_state(sequencer, "{}", &f->err), DET_E_STATE, "already");
  det_trial_sequencer_free(sequencer);
}

/* Killed between the validation and what the state says of it. */
static void a_validation_that_the_master_has_is_not_repeated(void **state) {
  struct fixture *f = *state;
  det_metric loss = {"loss", 0.5};
  char saved[160];
  assert_ok(det_train_report_training_metrics(det_core_train(f->core), 5, &loss, 1, &f->err));
  assert_ok(det_train_report_validation_metrics(det_core_train(f->core), 5, &loss, 1, &f->err));
  det_trial_sequencer *sequencer = sequencer_of(f);
  snprintf(saved, sizeof saved,
           "{\"trial_id\": %lld, \"last_ckpt\": 5, \"steps_completed\": 5, \"step_id\": 2, "
           "\"last_val\": 0}",
           (long long)det_info_trial_id(det_core_info(f->core)));
  assert_ok(det_trial_sequencer_load_state(sequencer, saved, &f->err));
  det_workload next = DET_WORKLOAD_INIT;
  assert_int_equal(det_trial_sequencer_next(sequencer, &next, &f->err), DET_DONE);
  det_trial_sequencer_free(sequencer);
}

static void a_request_to_stop_and_invalid_hparams_end_the_sequence(void **state) {
  struct fixture *f = *state;
  det_workload next = DET_WORKLOAD_INIT;
  det_trial_sequencer *sequencer = sequencer_of(f);
  expect_next(f, sequencer, DET_WORKLOAD_TRAIN, 3, 0);
  assert_ok(det_preempt_request(det_core_preempt(f->core)));
  assert_ok(det_trial_sequencer_respond(sequencer, trained, &f->err));
  expect_next(f, sequencer, DET_WORKLOAD_CHECKPOINT, 0, 3);
  assert_ok(det_trial_sequencer_respond_invalid_hparams(sequencer, &f->err));
  assert_int_equal(det_trial_sequencer_next(sequencer, &next, &f->err), DET_DONE);
  det_trial_sequencer_free(sequencer);
}

static void what_a_sequencer_refuses(void **state) {
  struct fixture *f = *state;
  det_trial_sequencer *sequencer;
  assert_fails(det_trial_sequencer_create(NULL, NULL, 4, &sequencer, &f->err), DET_E_INVALID,
               "core");
  assert_fails(det_trial_sequencer_create(f->core, "[]", 4, &sequencer, &f->err), DET_E_INVALID,
               "config_json");
  assert_fails(det_trial_sequencer_create(f->core, NULL, 0, &sequencer, &f->err), DET_E_INVALID,
               "batch size");
  assert_null(sequencer);
  sequencer = sequencer_of(f);
  det_workload unset = {0};
  assert_fails(det_trial_sequencer_next(sequencer, &unset, &f->err), DET_E_INVALID, "struct_size");
  assert_fails(det_trial_sequencer_next(sequencer, NULL, &f->err), DET_E_INVALID, "out");
  assert_fails(det_trial_sequencer_load_state(sequencer, "{", &f->err), DET_E_INVALID,
               "state_json");
  det_trial_sequencer_free(sequencer);
  det_trial_sequencer_free(NULL);
}

/* The rules themselves are tested in tests/trial. */
static void batches_are_divided_among_slots(void **state) {
  struct fixture *f = *state;
  int64_t slot, all;
  char *warning;
  const char *hparams = "{\"global_batch_size\": 10}";
  assert_ok(det_trial_batch_sizes(hparams, 4, NULL, &slot, &all, &warning, &f->err));
  assert_int_equal(slot, 2);
  assert_int_equal(all, 8);
  assert_non_null(warning);
  det_free(warning);
  assert_ok(det_trial_batch_sizes(hparams, 5, NULL, &slot, &all, &warning, &f->err));
  assert_null(warning);
  assert_fails(det_trial_batch_sizes("{}", 4, "TFKerasTrial", &slot, &all, NULL, &f->err),
               DET_E_INVALID, "TFKerasTrial");
  assert_fails(det_trial_batch_sizes("[]", 4, "TFKerasTrial", &slot, &all, NULL, &f->err),
               DET_E_INVALID, "hparams_json");
}

static void an_environment_is_made_of_a_configuration(void **state) {
  struct fixture *f = *state;
  char *made;
  assert_ok(det_trial_env_from_config("{\"scheduling_unit\": 2}", "{\"a\": 1}", 3, &made, &f->err));
  assert_non_null(strstr(made, "\"scheduling_unit\": 2"));
  assert_non_null(strstr(made, "\"a\": 1"));
  det_free(made);
  assert_fails(det_trial_env_from_config("{\"hyperparameters\": {\"a\": {\"type\": \"?\"}}}", NULL,
                                         0, &made, &f->err),
               DET_E_INVALID, "hyperparameters.a");
}

static void orders_of_batches_are_asked_for(void **state) {
  struct fixture *f = *state;
  det_trial_sampler_options options = DET_TRIAL_SAMPLER_OPTIONS_INIT;
  options.length = 4;
  options.shard = 1;
  options.shards = 2;
  options.skip = 1;
  det_trial_sampler *sampler;
  assert_ok(det_trial_sampler_create(&options, &sampler, &f->err));
  int64_t index;
  assert_ok(det_trial_sampler_next(sampler, &index, &f->err));
  assert_int_equal(index, 3);
  assert_int_equal(det_trial_sampler_next(sampler, &index, &f->err), DET_DONE);
  det_trial_sampler_free(sampler);
  options.shard = 2;
  assert_fails(det_trial_sampler_create(&options, &sampler, &f->err), DET_E_INVALID, "sampler");
}

static void early_stopping_is_asked_after_validations(void **state) {
  struct fixture *f = *state;
  det_trial_early_stopping_options options = DET_TRIAL_EARLY_STOPPING_OPTIONS_INIT;
  options.monitor = "val_accuracy";
  options.patience = 1;
  const double baseline = 4, value = 6;
  options.baseline = &baseline;
  det_trial_early_stopping *rule;
  assert_ok(det_trial_early_stopping_create(&options, &rule, &f->err));
  int32_t stop, improved;
  assert_ok(det_trial_early_stopping_update(rule, &value, &stop, &improved, &f->err));
  assert_true(!stop && improved);
  assert_ok(det_trial_early_stopping_update(rule, NULL, &stop, &improved, &f->err));
  assert_true(!stop && !improved);
  assert_ok(det_trial_early_stopping_update(rule, &value, &stop, NULL, &f->err));
  assert_true(stop);
  assert_fails(det_trial_early_stopping_load_state(rule, "{\"best\": \"x\"}", &f->err),
               DET_E_INVALID, "best");
  char *saved;
  assert_ok(det_trial_early_stopping_state(rule, &saved, &f->err));
  assert_non_null(strstr(saved, "\"best\": 6.0"));
  assert_ok(det_trial_early_stopping_load_state(rule, saved, &f->err));
  det_free(saved);
  det_trial_early_stopping_free(rule);
  options.mode = 3;
  assert_fails(det_trial_early_stopping_create(&options, &rule, &f->err), DET_E_INVALID, "mode 3");
}

static void a_plateau_is_asked_after_validations(void **state) {
  struct fixture *f = *state;
  det_trial_plateau_options options = DET_TRIAL_PLATEAU_OPTIONS_INIT;
  options.factor = 0.5;
  options.patience = 1;
  det_trial_plateau *rule;
  assert_ok(det_trial_plateau_create(&options, &rule, &f->err));
  double rate = 0.5, value = 1;
  int32_t improved;
  assert_ok(det_trial_plateau_update(rule, &value, &rate, &improved, &f->err));
  assert_true(rate == 0.5 && improved);
  assert_ok(det_trial_plateau_update(rule, NULL, &rate, NULL, &f->err));
  assert_ok(det_trial_plateau_update(rule, &value, &rate, &improved, &f->err));
  assert_true(rate == 0.25 && !improved);
  det_trial_plateau_free(rule);
  options.factor = 1;
  assert_fails(det_trial_plateau_create(&options, &rule, &f->err), DET_E_INVALID, "factor");
}

int test_trial(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_run_goes_through_its_workloads_and_a_restart_goes_on,
                                      setup_length_5, teardown),
      cmocka_unit_test_setup_teardown(a_validation_that_the_master_has_is_not_repeated,
                                      setup_length_5, teardown),
      cmocka_unit_test_setup_teardown(a_request_to_stop_and_invalid_hparams_end_the_sequence,
                                      setup_length_5, teardown),
      cmocka_unit_test_setup_teardown(what_a_sequencer_refuses, setup_length_5, teardown),
      cmocka_unit_test_setup_teardown(batches_are_divided_among_slots, setup_home, teardown),
      cmocka_unit_test_setup_teardown(an_environment_is_made_of_a_configuration, setup_home,
                                      teardown),
      cmocka_unit_test_setup_teardown(orders_of_batches_are_asked_for, setup_home, teardown),
      cmocka_unit_test_setup_teardown(early_stopping_is_asked_after_validations, setup_home,
                                      teardown),
      cmocka_unit_test_setup_teardown(a_plateau_is_asked_after_validations, setup_home, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
