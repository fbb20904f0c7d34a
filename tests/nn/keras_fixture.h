/* A trial of a small model through det/keras.h, which does and says what a test wants of it.
 * Everything is in a directory that is gone afterwards. */
#ifndef TESTS_NN_KERAS_FIXTURE_H
#define TESTS_NN_KERAS_FIXTURE_H

#include <det/keras.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cmocka.h"

#define RECORDS 12

static const char model[] =
    "{\"class_name\": \"Sequential\", \"config\": {\"layers\": ["
    "{\"class_name\": \"Dense\", \"config\": {\"units\": 2, \"batch_input_shape\": [null, 3],"
    " \"activation\": \"softmax\"}}]}}";
static const char compiled[] =
    "{\"optimizer\": \"sgd\", \"loss\": \"sparse_categorical_crossentropy\"}";

/* The functions of a trial, by which one of them is chosen to answer something else. */
enum place { NOWHERE, BUILD, BATCH, EPOCH_END, GET_STATE, LOAD_STATE, EVENT /* and its kind */ };

/* What a trial does, and what was seen of it. */
struct trial {
  int fails_in; /* a place, or EVENT + a kind */
  det_status answer;
  const char *message; /* of the answer */
  /* What is said of it in the place of the usual, where it is not NULL. */
  const char *model, *compiled, *fit, *callback;
  const det_keras_data *data;
  det_status (*more)(det_keras_context *context, det_error *err); /* last while it is built */
  void (*event)(det_keras_context *context, const det_keras_event *event);
  const char *state; /* NULL: the usual one */
  int is_sequence, stops;
  int64_t columns_of_second_batch;
  int seen[32], events, epochs, states;
  double learning_rate;
};

static char home[64];
static int length = 6; /* of a trial, in batches */
static det_error err;
static float x[RECORDS * 4];
static int64_t labels[RECORDS], shape[2], label_shape[1];
static det_tensor input, truth;
static det_nn_batch records;

static inline void fill_records(int64_t count) {
  for (int i = 0; i < RECORDS * 4; ++i) x[i] = sinf((float)(i * 7 + 1));
  for (int i = 0; i < RECORDS; ++i) labels[i] = x[i * 3] > 0;
  shape[0] = label_shape[0] = count;
  shape[1] = 3;
  input = (det_tensor)DET_TENSOR_INIT;
  truth = (det_tensor)DET_TENSOR_INIT;
  input.data = x;
  input.dtype = DET_DTYPE_F32;
  input.dimensions = 2;
  input.shape = shape;
  truth.data = labels;
  truth.dtype = DET_DTYPE_I64;
  truth.dimensions = 1;
  truth.shape = label_shape;
  records = (det_nn_batch)DET_NN_BATCH_INIT;
  records.inputs = &input;
  records.truths = &truth;
  records.input_count = records.result_count = 1;
}

/* What a function answers, which is where this trial fails or not. */
static inline det_status answer(struct trial *trial, int place, det_error *told) {
  if (trial->fails_in != place) return DET_OK;
  if (trial->message != NULL) return det_keras_fail(told, trial->answer, trial->message);
  return trial->answer;
}

static inline det_status give_batch(int64_t index, det_nn_batch *out, void *user_data,
                                    det_error *told) {
  static _Thread_local int64_t own_shape[2];
  static _Thread_local det_tensor own_input;
  struct trial *trial = user_data;
  own_input = input;
  own_input.shape = own_shape;
  own_shape[0] = shape[0];
  own_shape[1] = index == 1 && trial->columns_of_second_batch ? trial->columns_of_second_batch : 3;
  *out = records;
  out->inputs = &own_input;
  return answer(trial, BATCH, told);
}

static inline det_status end_epoch(void *user_data, det_error *told) {
  struct trial *trial = user_data;
  ++trial->epochs;
  return answer(trial, EPOCH_END, told);
}

static inline det_status on_event(det_keras_context *context, const det_keras_event *event,
                                  void *user_data, det_error *told) {
  struct trial *trial = user_data;
  assert_int_equal(event->struct_size, sizeof *event);
  ++trial->seen[event->kind];
  ++trial->events;
  if (trial->event != NULL) trial->event(context, event);
  if (trial->stops && event->kind == DET_KERAS_BATCH_END) det_keras_set_stop_requested(context, 1);
  trial->learning_rate = det_nn_model_learning_rate(det_keras_model(context));
  return answer(trial, EVENT + event->kind, told);
}

static inline det_status get_state(const char **out, void *user_data, det_error *told) {
  struct trial *trial = user_data;
  *out = trial->state != NULL ? trial->state : "{\"seen\": 1}";
  return answer(trial, GET_STATE, told);
}

static inline det_status load_state(const char *state, void *user_data, det_error *told) {
  struct trial *trial = user_data;
  assert_string_equal(state, "{\"seen\": 1}");
  ++trial->states;
  return answer(trial, LOAD_STATE, told);
}

static inline det_status build(det_keras_context *context, void *user_data, det_error *told) {
  struct trial *trial = user_data;
  det_keras_data data = DET_KERAS_DATA_INIT;
  if (trial->is_sequence) {
    data.batch_count = 3;
    data.batch = give_batch;
    data.on_epoch_end = end_epoch;
    data.user_data = trial;
  } else {
    data.arrays = &records;
  }
  const det_keras_data *given = trial->data != NULL ? trial->data : &data;
  det_keras_callback callback = DET_KERAS_CALLBACK_INIT;
  callback.on_event = on_event;
  callback.get_state = get_state;
  callback.load_state = load_state;
  callback.user_data = trial;
  det_status status =
      det_keras_set_model(context, trial->model != NULL ? trial->model : model,
                          trial->compiled != NULL ? trial->compiled : compiled, NULL, told);
  if (status == DET_OK) status = det_keras_set_training_data(context, given, told);
  if (status == DET_OK) status = det_keras_set_validation_data(context, given, told);
  if (status == DET_OK) status = det_keras_add_callback(context, &callback, told);
  if (status == DET_OK && trial->fit != NULL)
    status = det_keras_configure_fit(context, trial->fit, told);
  if (status == DET_OK && trial->callback != NULL)
    status = det_keras_add_known_callback(context, trial->callback, told);
  if (status == DET_OK && trial->more != NULL) status = trial->more(context, told);
  return status == DET_OK ? answer(trial, BUILD, told) : status;
}

static inline det_keras_run_options usual_options(void) {
  det_keras_run_options options = DET_KERAS_RUN_OPTIONS_INIT;
  options.master = home;
  options.hparams_json = "{\"global_batch_size\": 4}";
  static char config[512];
  snprintf(config, sizeof config,
           "{\"searcher\": {\"name\": \"single\", \"metric\": \"val_loss\","
           " \"max_length\": {\"batches\": %d}}, \"records_per_epoch\": 12,"
           " \"scheduling_unit\": 3, \"min_validation_period\": {\"batches\": 3},"
           " \"reproducibility\": {\"experiment_seed\": 1}}",
           length);
  options.config_json = config;
  return options;
}

static inline det_status run(struct trial *trial) {
  const det_keras_run_options options = usual_options();
  err = (det_error)DET_ERROR_INIT;
  return det_keras_run_trial(build, trial, &options, &err);
}

static inline void expect_run(det_status wanted, struct trial *trial, const char *part) {
  const det_status status = run(trial);
  if (status != wanted || strstr(err.message, part) == NULL)
    print_error("%d, not %d with '%s': %s\n", status, wanted, part, err.message);
  assert_int_equal(status, wanted);
  assert_int_equal(err.code, wanted < 0 ? wanted : 0);
  assert_non_null(strstr(err.message, part));
}

static inline void expect(det_status wanted, det_status status, const char *part) {
  if (status != wanted || strstr(err.message, part) == NULL)
    print_error("%d, not %d with '%s': %s\n", status, wanted, part, err.message);
  assert_int_equal(status, wanted);
  assert_non_null(strstr(err.message, part));
  err = (det_error)DET_ERROR_INIT;
}

static inline int set_up(void **state) {
  (void)state;
  err = (det_error)DET_ERROR_INIT;
  strcpy(home, "/tmp/detcore-test-XXXXXX");
  return mkdtemp(home) == NULL ? -1 : 0;
}

static inline int tear_down(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", home);
  return system(command);
}

#endif
