/* Every function of det/keras.h without what it needs, or with what cannot be: a code and a
 * message, and never a crash. */
#include "tests/nn/keras_fixture.h"

static void what_is_said_has_to_be_right(void **state) {
  (void)state;
  fill_records(RECORDS);
  const struct {
    det_status status;
    const char *part;
    struct trial trial;
  } cases[] = {
      {DET_E_INVALID, "json", {.model = "["}},
      {DET_E_INVALID, "compiled", {.compiled = "7"}},
      {DET_E_INVALID, "optimizer", {.compiled = "{\"loss\": \"mse\"}"}},
      {DET_E_INVALID, "did you mean", {.compiled = "{\"optimizer\": \"sgdd\", \"loss\": \"mse\"}"}},
      {DET_E_INVALID, "did you mean 'shuffle'", {.fit = "{\"shufle\": true}"}},
      {DET_E_INVALID, "'shuffle' must be true or false", {.fit = "{\"shuffle\": 1}"}},
      {DET_E_INVALID, "there are 0 workers or more", {.fit = "{\"workers\": -1}"}},
      {DET_E_INVALID, "max_queue_size", {.fit = "{\"max_queue_size\": 0}"}},
      {DET_E_INVALID, "validation_steps", {.fit = "{\"validation_steps\": 0}"}},
      {DET_E_INVALID, "an array of numbers", {.fit = "{\"class_weight\": {\"0\": 1}}"}},
      {DET_E_INVALID, "the weight of 1 is no number", {.fit = "{\"class_weight\": [1, NaN]}"}},
      {DET_E_INVALID, "no weight for it", {.fit = "{\"class_weight\": [1]}"}},
      {DET_E_INVALID, "did you mean 'EarlyStopping'", {.callback = "\"EarlyStoping\""}},
      {DET_E_INVALID, "neither a name nor an object", {.callback = "{}"}},
      {DET_E_INVALID, "json", {.callback = "EarlyStopping"}},
      {DET_E_INVALID,
       "did you mean 'patience'",
       {.callback = "{\"class_name\": \"EarlyStopping\", \"config\": {\"patiense\": 1}}"}},
      {DET_E_INVALID,
       "there is no mode 'least'; there are 'auto', 'min', 'max'",
       {.callback = "{\"class_name\": \"EarlyStopping\", \"config\": {\"mode\": \"least\"}}"}},
      {DET_E_INVALID,
       "'patience' is a count",
       {.callback = "{\"class_name\": \"EarlyStopping\", \"config\": {\"patience\": -1}}"}},
      {DET_E_INVALID,
       "'cooldown' is a count",
       {.callback = "{\"class_name\": \"ReduceLROnPlateau\", \"config\": {\"cooldown\": 1e10}}"}},
  };
  for (size_t i = 0; i + 1 < sizeof cases / sizeof *cases; ++i) {
    struct trial trial = cases[i].trial;
    expect_run(cases[i].status, &trial, cases[i].part);
  }
}

static void data_that_cannot_be_are_refused(void **state) {
  (void)state;
  fill_records(RECORDS);
  det_keras_data data = DET_KERAS_DATA_INIT;
  struct trial trial = {.data = &data};
  expect_run(DET_E_INVALID, &trial, "there are no arrays");
  data.batch = give_batch;
  data.user_data = &trial;
  expect_run(DET_E_INVALID, &trial, "one batch or more");
  data.batch_count = 3;
  data.arrays = &records;
  expect_run(DET_E_INVALID, &trial, "arrays or a sequence, not both");
  data = (det_keras_data)DET_KERAS_DATA_INIT;
  data.arrays = &records;
  data.struct_size = 0;
  expect_run(DET_E_INVALID, &trial, "data.struct_size is not set");
  data.struct_size = sizeof data;
  records.struct_size = 1;
  expect_run(DET_E_INVALID, &trial, "batch.struct_size");
  fill_records(RECORDS);
  input.dtype = 12345;
  expect_run(DET_E_INVALID, &trial, "there is no dtype 12345");
  fill_records(RECORDS);
  input.data = NULL;
  expect_run(DET_E_INVALID, &trial, "its data is NULL");
  fill_records(RECORDS);
  shape[1] = -3;
  expect_run(DET_E_INVALID, &trial, "");
  fill_records(RECORDS);
  const double of_class = 1;
  records.class_weights = &of_class;
  records.class_count = 1;
  expect_run(DET_E_INVALID, &trial, "weighting classes: there is a label 1");
  fill_records(3);
  expect_run(DET_E_INVALID, &trial, "a batch of 4 records is more than there are (3)");
  fill_records(RECORDS);
  label_shape[0] = 5;
  expect_run(DET_E_INVALID, &trial, "an array has 5 records");
  fill_records(RECORDS);
  records.input_count = 0;
  expect_run(DET_E_INVALID, &trial, "there are no inputs");
}

static det_status empty_batch(int64_t index, det_nn_batch *out, void *user_data, det_error *told) {
  (void)index;
  (void)out;
  (void)user_data;
  (void)told;
  return DET_OK;
}

static void batches_that_cannot_be_are_refused(void **state) {
  (void)state;
  fill_records(4);
  struct trial changing = {.is_sequence = 1, .columns_of_second_batch = 2};
  expect_run(DET_E_INVALID, &changing, "inputs may differ in their batch, not in their features");
  changing.fit = "{\"workers\": 3}";
  expect_run(DET_E_INVALID, &changing, "inputs may differ in their batch, not in their features");
  det_keras_data data = DET_KERAS_DATA_INIT;
  data.batch = empty_batch;
  data.batch_count = 3;
  struct trial empty = {.data = &data};
  expect_run(DET_E_INVALID, &empty, "");
}

static det_status say_more(det_keras_context *context, det_error *told) {
  det_nn_model *out = (det_nn_model *)&out;
  const det_status status = det_keras_set_model(context, model, compiled, &out, told);
  assert_null(out);
  return status;
}
static det_status give_more_to_train(det_keras_context *context, det_error *told) {
  det_keras_data data = DET_KERAS_DATA_INIT;
  data.arrays = &records;
  return det_keras_set_training_data(context, &data, told);
}
static det_status give_more_to_validate(det_keras_context *context, det_error *told) {
  det_keras_data data = DET_KERAS_DATA_INIT;
  data.arrays = &records;
  return det_keras_set_validation_data(context, &data, told);
}

static void say_it_late(det_keras_context *context, const det_keras_event *event) {
  (void)event;
  const det_keras_callback callback = DET_KERAS_CALLBACK_INIT;
  const char *late = "while the trial is built, not later";
  expect(DET_E_STATE, det_keras_set_model(context, model, compiled, NULL, &err), late);
  expect(DET_E_STATE, give_more_to_train(context, &err), late);
  expect(DET_E_STATE, give_more_to_validate(context, &err), late);
  expect(DET_E_STATE, det_keras_configure_fit(context, "{}", &err), late);
  expect(DET_E_STATE, det_keras_add_callback(context, &callback, &err), late);
  expect(DET_E_STATE, det_keras_add_known_callback(context, "\"TensorBoard\"", &err), late);
}

static void what_is_said_twice_or_late_is_refused(void **state) {
  (void)state;
  fill_records(RECORDS);
  struct trial twice = {.more = say_more};
  expect_run(DET_E_STATE, &twice, "it is said already");
  twice.more = give_more_to_train;
  expect_run(DET_E_STATE, &twice, "they are given already");
  twice.more = give_more_to_validate;
  expect_run(DET_E_STATE, &twice, "they are given already");
  struct trial late = {.event = say_it_late};
  expect_run(DET_OK, &late, "");
  assert_true(late.events > 0);
}

/* Says as much as its user data has it. */
static det_status build_partly(det_keras_context *context, void *user_data, det_error *told) {
  const int *parts = user_data;
  det_status status = DET_OK;
  assert_null(det_keras_model(context));
  det_nn_model *made = NULL;
  if (*parts > 0) status = det_keras_set_model(context, model, compiled, &made, told);
  assert_ptr_equal(made, det_keras_model(context));
  if (*parts > 1) status = give_more_to_train(context, told);
  return status;
}

static void what_is_not_said_is_asked_for(void **state) {
  (void)state;
  fill_records(RECORDS);
  const det_keras_run_options options = usual_options();
  const char *missing[] = {"its model; call det_keras_set_model()", "det_keras_set_training_data()",
                           "det_keras_set_validation_data()"};
  for (int parts = 0; parts < 3; ++parts)
    expect(DET_E_STATE, det_keras_run_trial(build_partly, &parts, &options, &err), missing[parts]);
}

static void what_is_null_is_refused(void **state) {
  (void)state;
  const det_keras_data data = DET_KERAS_DATA_INIT;
  const det_keras_callback callback = DET_KERAS_CALLBACK_INIT;
  det_nn_model *out = (det_nn_model *)&out;
  const char *null = "must not be NULL";
  expect(DET_E_INVALID, det_keras_set_model(NULL, model, compiled, &out, &err), null);
  assert_null(out);
  expect(DET_E_INVALID, det_keras_set_training_data(NULL, &data, &err), null);
  expect(DET_E_INVALID, det_keras_set_validation_data(NULL, &data, &err), null);
  expect(DET_E_INVALID, det_keras_configure_fit(NULL, "{}", &err), null);
  expect(DET_E_INVALID, det_keras_add_callback(NULL, &callback, &err), null);
  expect(DET_E_INVALID, det_keras_add_known_callback(NULL, "\"TensorBoard\"", &err), null);
  expect(DET_E_INVALID, det_keras_run_trial(NULL, NULL, NULL, &err), null);
  expect(DET_E_INVALID, det_keras_load_model(NULL, &out, &err), null);
  expect(DET_E_INVALID, det_keras_load_model("nowhere", NULL, &err), null);
  expect(DET_E_INVALID, det_keras_load_model("nowhere", &out, &err), "load_data.json");
  assert_null(out);
  det_keras_context *context = (det_keras_context *)&context;
  expect(DET_E_INVALID, det_keras_context_create(NULL, NULL, &context, &err), null);
  assert_null(context);
  expect(DET_E_INVALID, det_keras_context_from_config(NULL, NULL, NULL, NULL, &err), null);
  expect(DET_E_INVALID, det_keras_use_model(NULL, NULL, &err), null);
  expect(DET_E_INVALID, det_keras_set_loop(NULL, NULL, &err), null);
  expect(DET_E_INVALID, det_keras_train(NULL, build, NULL, NULL, &err), null);
  det_keras_ranks *ranks = (det_keras_ranks *)&ranks;
  expect(DET_E_INVALID, det_keras_ranks_create(NULL, NULL, NULL, &ranks, &err), null);
  assert_null(ranks);
  expect(DET_E_INVALID, det_keras_ranks_train_on_batch(NULL, &records, &err), null);
  expect(DET_E_INVALID, det_keras_ranks_share_untrained(NULL, NULL, &err), null);
  char *told = (char *)&told;
  expect(DET_E_INVALID, det_keras_read_arguments(NULL, 2, &told, &err), null);
  assert_null(told);
  assert_int_equal(det_keras_run_trial(NULL, NULL, NULL, NULL), DET_E_INVALID);
  assert_null(det_keras_core(NULL));
  assert_null(det_keras_model(NULL));
  assert_int_equal(det_keras_global_batch_size(NULL), 0);
  assert_int_equal(det_keras_per_slot_batch_size(NULL), 0);
  det_keras_set_stop_requested(NULL, 1);
  assert_int_equal(det_keras_stop_requested(NULL), 0);
  det_keras_context_free(NULL);
  det_keras_ranks_free(NULL);
}

static det_status say_null(det_keras_context *context, det_error *told) {
  const char *null = "must not be NULL";
  (void)told;
  expect(DET_E_INVALID, det_keras_configure_fit(context, NULL, &err), null);
  expect(DET_E_INVALID, det_keras_add_callback(context, NULL, &err), null);
  expect(DET_E_INVALID, det_keras_add_known_callback(context, NULL, &err), null);
  det_keras_callback callback = DET_KERAS_CALLBACK_INIT;
  callback.reserved = 1;
  expect(DET_E_UNSUPPORTED, det_keras_add_callback(context, &callback, &err), "callback.reserved");
  callback.reserved = 0;
  callback.name = "of no functions";
  assert_int_equal(det_keras_add_callback(context, &callback, &err), DET_OK);
  return DET_OK;
}

static void options_that_cannot_be_are_refused(void **state) {
  (void)state;
  fill_records(RECORDS);
  struct trial trial = {.more = say_null};
  expect_run(DET_OK, &trial, "");
  det_keras_run_options options = usual_options();
  options.struct_size = 1;
  expect(DET_E_INVALID, det_keras_run_trial(build, &trial, &options, &err), "options.struct_size");
  options = usual_options();
  options.argument_count = 2;
  expect(DET_E_INVALID, det_keras_run_trial(build, &trial, &options, &err), "options.arguments");
  const char *arguments[] = {"program", NULL};
  options.arguments = arguments;
  expect(DET_E_INVALID, det_keras_run_trial(build, &trial, &options, &err), "an argument of");
  arguments[1] = "--config";
  expect(DET_E_INVALID, det_keras_run_trial(build, &trial, &options, &err),
         "--config needs a value after it");
  options = usual_options();
  options.hparams_json = "{}";
  expect(DET_E_INVALID, det_keras_run_trial(build, &trial, &options, &err), "global_batch_size");
  options = usual_options();
  options.config_json = "{";
  expect(DET_E_INVALID, det_keras_run_trial(build, &trial, &options, &err), "");
}

static void a_failure_is_told_with_its_text(void **state) {
  (void)state;
  assert_int_equal(det_keras_fail(&err, DET_E_IO, "gone"), DET_E_IO);
  assert_int_equal(err.code, DET_E_IO);
  assert_string_equal(err.message, "gone");
  assert_int_equal(det_keras_fail(&err, DET_OK, "fine"), DET_E_CALLBACK);
  assert_int_equal(det_keras_fail(&err, -12345, NULL), DET_E_CALLBACK);
  assert_string_equal(err.message, "");
  assert_int_equal(det_keras_fail(&err, DET_KERAS_INVALID_HP, "too fast"), DET_KERAS_INVALID_HP);
  assert_string_equal(err.message, "too fast");
  assert_int_equal(det_keras_fail(NULL, DET_E_IO, "gone"), DET_E_IO);
  char text[2000];
  memset(text, 'a', sizeof text);
  text[sizeof text - 1] = '\0';
  assert_int_equal(det_keras_fail(&err, DET_E_IO, text), DET_E_IO);
  assert_true(strlen(err.message) < sizeof err.message);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_said_has_to_be_right),
      cmocka_unit_test(data_that_cannot_be_are_refused),
      cmocka_unit_test(batches_that_cannot_be_are_refused),
      cmocka_unit_test(what_is_said_twice_or_late_is_refused),
      cmocka_unit_test(what_is_not_said_is_asked_for),
      cmocka_unit_test(what_is_null_is_refused),
      cmocka_unit_test(options_that_cannot_be_are_refused),
      cmocka_unit_test(a_failure_is_told_with_its_text),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
