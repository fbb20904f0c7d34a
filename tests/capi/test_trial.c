#include <det/trial.h>
#include <math.h>

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

static void batches_are_divided_among_slots(void **state) {
  struct fixture *f = *state;
  int64_t slot, all;
  char *warning;
  const struct {
    const char *hparams;
    int64_t slots, slot, all;
  } right[] = {
      {"{\"global_batch_size\": 8}", 4, 2, 8}, {"{\"global_batch_size\": 10}", 4, 2, 8},
      {"{\"global_batch_size\": 3}", 0, 3, 3}, {"{\"global_batch_size\": true}", 1, 1, 1},
      {"{\"global_batch_size\": 4}", 4, 1, 4},
  };
  for (size_t i = 0; i < sizeof right / sizeof *right; ++i) {
    assert_ok(det_trial_batch_sizes(right[i].hparams, right[i].slots, NULL, &slot, &all, &warning,
                                    &f->err));
    assert_int_equal(slot, right[i].slot);
    assert_int_equal(all, right[i].all);
    assert_int_equal(warning != NULL, i == 1);
    det_free(warning);
  }
  const char *wrong[][2] = {
      {"{}", "required"},
      {"{\"global_batch_size\": 2.5}", "float"},
      {"{\"global_batch_size\": \"8\"}", "string"},
      {"{\"global_batch_size\": null}", "null"},
      {"{\"global_batch_size\": 3}", "4 slots"},
      {"{\"global_batch_size\": -3}", "-3"},
      {"{\"global_batch_size\": 18446744073709551615}", "4 slots"},
      {"[]", "hparams_json"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
    assert_fails(det_trial_batch_sizes(wrong[i][0], 4, "TFKerasTrial", &slot, &all, NULL, &f->err),
                 DET_E_INVALID, wrong[i][1]);
}

static void an_environment_is_made_of_a_configuration(void **state) {
  struct fixture *f = *state;
  char *made;
  assert_ok(det_trial_env_from_config(
      "{\"resources\": {\"slots_per_trial\": 8}, \"reproducibility\": {\"experiment_seed\": 7}, "
      "\"scheduling_unit\": 2, \"hyperparameters\": {\"a\": {\"b\": {\"type\": \"categorical\", "
      "\"vals\": [[1]]}}}}",
      NULL, 3, &made, &f->err));
  assert_non_null(strstr(made, "\"slots_per_trial\": 1"));
  assert_non_null(strstr(made, "\"scheduling_unit\": 2"));
  assert_non_null(strstr(made, "\"trial_seed\": 7"));
  assert_non_null(strstr(made, "\"hparams\": {\n    \"a\": {\n      \"b\": ["));
  det_free(made);
  assert_fails(det_trial_env_from_config("{\"hyperparameters\": {\"a\": {\"type\": \"?\"}}}", NULL,
                                         0, &made, &f->err),
               DET_E_INVALID, "hyperparameters.a");
}

static void expect_indices(const int64_t *given, const char *expected) {
  char text[64] = "";
  for (int i = 0; i < 10; ++i)
    snprintf(text + strlen(text), sizeof text - strlen(text), "%lld", (long long)given[i]);
  assert_string_equal(text, expected);
}

static void shuffles_are_those_of_numpy(void **state) {
  struct fixture *f = *state;
  int64_t indices[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  assert_ok(det_trial_shuffle(0, indices, 10, &f->err));
  expect_indices(indices, "2849167305");
  assert_ok(det_trial_shuffle(0, NULL, 0, &f->err));
  assert_fails(det_trial_shuffle(0, NULL, 1, &f->err), DET_E_INVALID, "indices");
  det_trial_sampler_options options = DET_TRIAL_SAMPLER_OPTIONS_INIT;
  options.length = 10;
  options.shuffle = 1;
  options.seed = 777;
  det_trial_sampler *sampler;
  assert_ok(det_trial_sampler_create(&options, &sampler, &f->err));
  const char *epochs[] = {"2083451967", "4170325896"};
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int i = 0; i < 10; ++i) assert_ok(det_trial_sampler_next(sampler, indices + i, &f->err));
    expect_indices(indices, epochs[epoch]);
    assert_int_equal(det_trial_sampler_next(sampler, indices, &f->err), DET_DONE);
  }
  det_trial_sampler_free(sampler);
}

static void shards_rotate_where_an_epoch_does_not_divide(void **state) {
  struct fixture *f = *state;
  det_trial_sampler_options options = DET_TRIAL_SAMPLER_OPTIONS_INIT;
  options.length = 10;
  options.shards = 3;
  det_trial_sampler *sampler;
  assert_ok(det_trial_sampler_create(&options, &sampler, &f->err));
  const char *expected = "0369,258,147,0369,";
  int64_t index;
  for (const char *next = expected; *next != '\0'; ++next) {
    if (*next == ',') {
      assert_int_equal(det_trial_sampler_next(sampler, &index, &f->err), DET_DONE);
    } else {
      assert_ok(det_trial_sampler_next(sampler, &index, &f->err));
      assert_int_equal(index, *next - '0');
    }
  }
  det_trial_sampler_free(sampler);
  const struct {
    int64_t length, shard, shards, skip;
  } wrong[] = {{2, 0, 3, 0},  {10, 3, 3, 0},       {10, -1, 3, 0},
               {10, 0, 0, 0}, {10, 0, 3, -1},      {10, 0, 3, INT64_MAX / 2},
               {0, 0, 1, 0},  {INT64_MIN, 0, 1, 0}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    options.length = wrong[i].length;
    options.shard = wrong[i].shard;
    options.shards = wrong[i].shards;
    options.skip = wrong[i].skip;
    assert_fails(det_trial_sampler_create(&options, &sampler, &f->err), DET_E_INVALID, "sampler");
  }
}

static void early_stopping_waits_from_its_start_on(void **state) {
  struct fixture *f = *state;
  det_trial_early_stopping_options options = DET_TRIAL_EARLY_STOPPING_OPTIONS_INIT;
  options.monitor = "val_accuracy";
  options.patience = 2;
  options.start_from = 1;
  det_trial_early_stopping *rule;
  assert_ok(det_trial_early_stopping_create(&options, &rule, &f->err));
  const struct {
    double value;
    int stop, improved;
  } steps[] = {{9, 0, 0}, {5, 0, 1}, {NAN, 0, 0}, {6, 0, 1}, {6, 0, 0}, {5, 1, 0}};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; ++i) {
    int32_t stop, improved;
    assert_ok(det_trial_early_stopping_update(rule, &steps[i].value, &stop, &improved, &f->err));
    assert_int_equal(stop, steps[i].stop);
    assert_int_equal(improved, steps[i].improved);
  }
  assert_fails(det_trial_early_stopping_load_state(rule, "{\"best\": \"x\"}", &f->err),
               DET_E_INVALID, "best");
  assert_fails(det_trial_early_stopping_load_state(rule, "{\"best\": 1, \"wait\": -1}", &f->err),
               DET_E_INVALID, "wait");
  char *saved;
  assert_ok(det_trial_early_stopping_state(rule, &saved, &f->err));
  assert_non_null(strstr(saved, "\"best\": 6.0"));
  det_free(saved);
  det_trial_early_stopping_free(rule);
  options.mode = 3;
  assert_fails(det_trial_early_stopping_create(&options, &rule, &f->err), DET_E_INVALID, "mode 3");
}

static void a_plateau_lowers_the_rate_no_further_than_it_may(void **state) {
  struct fixture *f = *state;
  det_trial_plateau_options options = DET_TRIAL_PLATEAU_OPTIONS_INIT;
  options.factor = 0.5;
  options.patience = 1;
  options.cooldown = 2;
  options.min_learning_rate = 0.2;
  det_trial_plateau *rule;
  assert_ok(det_trial_plateau_create(&options, &rule, &f->err));
  double rate = 0.5, value = 1;
  const double rates[] = {0.5, 0.25, 0.25, 0.2, 0.2, 0.2};
  for (size_t i = 0; i < sizeof rates / sizeof *rates; ++i) {
    assert_ok(det_trial_plateau_update(rule, i == 2 ? NULL : &value, &rate, NULL, &f->err));
    if (i != 3) continue;
    assert_true(rate == 0.25); /* cools down still */
    assert_ok(det_trial_plateau_update(rule, &value, &rate, NULL, &f->err));
    assert_true(rate == rates[i]);
  }
  assert_true(rate == 0.2);
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
      cmocka_unit_test_setup_teardown(shuffles_are_those_of_numpy, setup_home, teardown),
      cmocka_unit_test_setup_teardown(shards_rotate_where_an_epoch_does_not_divide, setup_home,
                                      teardown),
      cmocka_unit_test_setup_teardown(early_stopping_waits_from_its_start_on, setup_home, teardown),
      cmocka_unit_test_setup_teardown(a_plateau_lowers_the_rate_no_further_than_it_may, setup_home,
                                      teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
