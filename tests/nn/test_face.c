/* Models through det/nn.h, as any language uses them. */
#include <det/nn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cmocka.h"

#define RECORDS 8

static const char small_model[] =
    "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"small\", \"layers\": ["
    "{\"class_name\": \"Dense\", \"config\": {\"units\": 4, \"activation\": \"tanh\","
    " \"batch_input_shape\": [null, 3]}},"
    "{\"class_name\": \"Dense\", \"config\": {\"units\": 2, \"activation\": \"softmax\"}}]}}";
static const char compiled[] =
    "{\"optimizer\": {\"class_name\": \"SGD\", \"config\": {\"learning_rate\": 0.1, \"momentum\": "
    "0.9}},"
    " \"loss\": \"sparse_categorical_crossentropy\", \"metrics\": [\"accuracy\"]}";

/* Records whose label says whether their first number is above 0. */
struct records {
  float x[RECORDS * 3];
  int64_t labels[RECORDS];
  int64_t x_shape[2], label_shape[1];
  det_tensor input, truth;
  det_nn_batch batch;
};

static void fill(struct records *r) {
  for (int i = 0; i < RECORDS * 3; ++i) r->x[i] = sinf((float)(i * 7 + 1));
  for (int i = 0; i < RECORDS; ++i) r->labels[i] = r->x[i * 3] > 0;
  r->x_shape[0] = r->label_shape[0] = RECORDS;
  r->x_shape[1] = 3;
  r->input = (det_tensor)DET_TENSOR_INIT;
  r->truth = (det_tensor)DET_TENSOR_INIT;
  r->input.data = r->x;
  r->input.dtype = DET_DTYPE_F32;
  r->input.dimensions = 2;
  r->input.shape = r->x_shape;
  r->truth.data = r->labels;
  r->truth.dtype = DET_DTYPE_I64;
  r->truth.dimensions = 1;
  r->truth.shape = r->label_shape;
  r->batch = (det_nn_batch)DET_NN_BATCH_INIT;
  r->batch.inputs = &r->input;
  r->batch.truths = &r->truth;
  r->batch.input_count = r->batch.result_count = 1;
}

static void assert_ok(det_status status, const det_error *err) {
  if (status != DET_OK) print_error("%s\n", err->message);
  assert_int_equal(status, DET_OK);
}

static det_nn_model *make_model(uint64_t seed, det_error *err) {
  det_nn_model *model = NULL;
  det_nn_model_options options = DET_NN_MODEL_OPTIONS_INIT;
  options.seed = seed;
  assert_ok(det_nn_model_create(small_model, &options, &model, err), err);
  assert_ok(det_nn_model_compile(model, compiled, err), err);
  return model;
}

static double loss_with(const det_nn_batch *batch, det_error *err) {
  det_nn_model *model = make_model(3, err);
  assert_ok(det_nn_model_test_on_batch(model, batch, err), err);
  const double loss = det_nn_model_metric(model, 0);
  det_nn_model_free(model);
  return loss;
}

static void records_count_as_their_classes(void **state) {
  (void)state;
  det_error err = DET_ERROR_INIT;
  struct records r;
  fill(&r);
  float of_records[RECORDS];
  for (int i = 0; i < RECORDS; ++i) of_records[i] = r.labels[i] == 1 ? 4 : 0.5F;
  det_tensor weights = r.truth;
  weights.data = of_records;
  weights.dtype = DET_DTYPE_F32;
  det_nn_batch by_record = r.batch, by_class = r.batch;
  by_record.sample_weights = &weights;
  const double of_classes[] = {0.5, 4};
  by_class.class_weights = of_classes;
  by_class.class_count = 2;
  assert_true(loss_with(&by_record, &err) == loss_with(&by_class, &err));
  assert_true(loss_with(&by_class, &err) != loss_with(&r.batch, &err));

  det_nn_model *model = make_model(3, &err);
  by_class.class_count = 1;
  assert_int_equal(det_nn_model_train_on_batch(model, &by_class, &err), DET_E_INVALID);
  assert_string_equal(err.message, "weighting classes: there is a label 1, and no weight for it");
  by_class.class_weights = NULL;
  assert_int_equal(det_nn_model_train_on_batch(model, &by_class, &err), DET_E_INVALID);
  assert_string_equal(err.message, "batch.class_weights is NULL, and there are 1 classes");
  /* A program of an earlier release has a shorter batch. */
  by_class.class_count = 7;
  by_class.struct_size = offsetof(det_nn_batch, class_weights);
  assert_ok(det_nn_model_train_on_batch(model, &by_class, &err), &err);
  det_nn_model_free(model);
}

static void a_model_trains_and_predicts(void **state) {
  (void)state;
  det_error err = DET_ERROR_INIT;
  struct records r;
  fill(&r);
  det_nn_model *model = make_model(3, &err);
  for (int i = 0; i < 200; ++i) assert_ok(det_nn_model_train_on_batch(model, &r.batch, &err), &err);
  det_nn_model_reset_metrics(model);
  assert_ok(det_nn_model_test_on_batch(model, &r.batch, &err), &err);
  assert_int_equal(det_nn_model_metric_count(model), 2);
  assert_string_equal(det_nn_model_metric_name(model, 1), "accuracy");
  assert_true(det_nn_model_metric(model, 0) < 0.1);
  assert_true(det_nn_model_metric(model, 1) == 1);
  assert_null(det_nn_model_metric_name(model, 2));
  assert_true(isnan(det_nn_model_metric(model, 2)));

  const det_tensor *results = NULL;
  size_t count = 0;
  assert_ok(det_nn_model_predict_on_batch(model, &r.input, 1, &results, &count, &err), &err);
  assert_int_equal(count, 1);
  assert_string_equal(results->name, "dense_1");
  assert_int_equal(results->shape[1], 2);
  for (int i = 0; i < RECORDS; ++i) {
    const float *scores = (const float *)results->data + i * 2;
    assert_int_equal(scores[1] > scores[0], r.labels[i]);
  }
  det_nn_model_free(model);
}

static void copy_all(const det_tensor *from, const det_tensor *to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    assert_string_equal(from[i].name, to[i].name);
    size_t elements = 1;
    for (size_t d = 0; d < from[i].dimensions; ++d) elements *= (size_t)from[i].shape[d];
    memcpy(to[i].data, from[i].data, elements * sizeof(float));
  }
}

static void what_is_restored_goes_on_bit_for_bit(void **state) {
  (void)state;
  det_error err = DET_ERROR_INIT;
  struct records r;
  fill(&r);
  det_nn_model *first = make_model(3, &err);
  det_nn_model *second = make_model(4, &err);
  for (int i = 0; i < 5; ++i) assert_ok(det_nn_model_train_on_batch(first, &r.batch, &err), &err);
  const det_tensor *from = NULL, *to = NULL;
  size_t count = 0, same = 0;
  assert_ok(det_nn_model_weights(first, &from, &count, &err), &err);
  assert_ok(det_nn_model_weights(second, &to, &same, &err), &err);
  assert_int_equal(count, 4);
  assert_string_equal(from[2].name, "dense_1/kernel");
  copy_all(from, to, count);
  assert_ok(det_nn_model_optimizer_state(first, &from, &count, &err), &err);
  assert_ok(det_nn_model_optimizer_state(second, &to, &same, &err), &err);
  assert_int_equal(count, 4);
  copy_all(from, to, count);
  int64_t steps = 0, iterations = 0;
  det_nn_model_steps(first, &steps, &iterations);
  assert_int_equal(steps, 5);
  assert_ok(det_nn_model_set_steps(second, steps, iterations, &err), &err);
  for (int i = 0; i < 5; ++i) {
    assert_ok(det_nn_model_train_on_batch(first, &r.batch, &err), &err);
    assert_ok(det_nn_model_train_on_batch(second, &r.batch, &err), &err);
  }
  assert_ok(det_nn_model_weights(first, &from, &count, &err), &err);
  assert_ok(det_nn_model_weights(second, &to, &same, &err), &err);
  for (size_t i = 0; i < count; ++i)
    assert_memory_equal(from[i].data, to[i].data, (size_t)from[i].shape[0] * sizeof(float));
  det_nn_model_free(first);
  det_nn_model_free(second);
}

struct watched {
  size_t told[8], count;
  int32_t answer;
};

static int32_t note_gradient(size_t index, float *gradient, size_t count, void *user_data) {
  struct watched *w = user_data;
  assert_true(count > 0 && gradient != NULL);
  w->told[w->count++] = index;
  return 0;
}

static int32_t answer_step(void *user_data) { return ((struct watched *)user_data)->answer; }

static void gradients_are_told_last_layer_first(void **state) {
  (void)state;
  det_error err = DET_ERROR_INIT;
  struct records r;
  fill(&r);
  det_nn_model *model = make_model(3, &err);
  struct watched watched = {.answer = 0};
  assert_ok(det_nn_model_observe_gradients(model, note_gradient, answer_step, &watched, &err),
            &err);
  const det_tensor *weights = NULL;
  size_t count = 0;
  assert_ok(det_nn_model_weights(model, &weights, &count, &err), &err);
  const float before = *(const float *)weights[0].data;
  assert_ok(det_nn_model_train_on_batch(model, &r.batch, &err), &err);
  assert_int_equal(watched.count, 4);
  assert_true(watched.told[0] >= 2 && watched.told[3] < 2);
  /* Not applied, and counted. */
  assert_true(*(const float *)weights[0].data == before);
  int64_t iterations = 0;
  det_nn_model_steps(model, NULL, &iterations);
  assert_int_equal(iterations, 1);
  watched.answer = -5;
  assert_int_equal(det_nn_model_train_on_batch(model, &r.batch, &err), DET_E_CALLBACK);
  assert_true(*(const float *)weights[0].data == before);
  det_nn_model_free(model);
}

static int32_t note_place(size_t index, float *gradient, size_t count, void *user_data) {
  ((float **)user_data)[index] = gradient;
  (void)count;
  return 0;
}

static void gradients_are_computed_where_they_are_wanted(void **state) {
  (void)state;
  static _Alignas(64) float memory[4096];
  det_error err = DET_ERROR_INIT;
  struct records r;
  fill(&r);
  float *places[4];
  det_nn_model *usual = make_model(3, &err), *placed = make_model(3, &err);
  assert_ok(det_nn_model_observe_gradients(placed, note_place, NULL, places, &err), &err);
  assert_ok(det_nn_model_train_on_batch(usual, &r.batch, &err), &err);
  assert_ok(det_nn_model_train_on_batch(placed, &r.batch, &err), &err);
  assert_true(places[0] != memory);
  memset(memory, -1, sizeof memory);
  assert_ok(det_nn_model_place_gradients(placed, memory, sizeof memory, &err), &err);
  for (int turn = 0; turn < 3; ++turn) {
    if (turn == 2) assert_ok(det_nn_model_place_gradients(placed, NULL, 0, &err), &err);
    assert_ok(det_nn_model_train_on_batch(usual, &r.batch, &err), &err);
    assert_ok(det_nn_model_train_on_batch(placed, &r.batch, &err), &err);
    const float *next = memory;
    for (size_t i = 0; i < 4; ++i) {
      const det_tensor *one = NULL, *other = NULL;
      size_t count = 0, elements = 1;
      assert_ok(det_nn_model_weights(usual, &one, &count, &err), &err);
      assert_ok(det_nn_model_weights(placed, &other, &count, &err), &err);
      for (size_t d = 0; d < one[i].dimensions; ++d) elements *= (size_t)one[i].shape[d];
      assert_memory_equal(one[i].data, other[i].data, elements * sizeof(float));
      assert_int_equal(places[i] == next, turn < 2);
      next += (elements + 15) / 16 * 16;
    }
  }
  assert_int_equal(det_nn_model_place_gradients(placed, memory + 1, sizeof memory - 4, &err),
                   DET_E_INVALID);
  assert_non_null(strstr(err.message, "multiple of 64"));
  assert_int_equal(det_nn_model_place_gradients(placed, memory, 64, &err), DET_E_INVALID);
  assert_non_null(strstr(err.message, "it has 64 bytes, and they take"));
  assert_ok(det_nn_model_train_on_batch(placed, &r.batch, &err), &err);
  assert_true(places[0] != memory);
  det_nn_model_free(usual);
  det_nn_model_free(placed);
}

static void files_are_written_and_read(void **state) {
  (void)state;
  det_error err = DET_ERROR_INIT;
  struct records r;
  fill(&r);
  char directory[] = "/tmp/detcore-test-XXXXXX";
  assert_non_null(mkdtemp(directory));
  char paths[3][64];
  for (int i = 0; i < 3; ++i) snprintf(paths[i], sizeof paths[i], "%s/%d", directory, i);
  det_nn_model *models[] = {make_model(1, &err), make_model(2, &err)};
  assert_ok(det_nn_model_train_on_batch(models[0], &r.batch, &err), &err);
  assert_ok(det_nn_model_save_weights(models[0], paths[0], &err), &err);
  assert_ok(det_nn_model_save_training_state(models[0], paths[1], &err), &err);
  assert_ok(det_nn_model_write_onnx(models[0], paths[2], &err), &err);
  assert_ok(det_nn_model_load_weights(models[1], paths[0], &err), &err);
  assert_ok(det_nn_model_load_training_state(models[1], paths[1], &err), &err);
  float values[2] = {0, 0};
  for (int i = 0; i < 2; ++i) {
    const det_tensor *weights = NULL;
    size_t count = 0;
    assert_ok(det_nn_model_train_on_batch(models[i], &r.batch, &err), &err);
    assert_ok(det_nn_model_weights(models[i], &weights, &count, &err), &err);
    values[i] = *(const float *)weights[0].data;
  }
  assert_true(values[0] == values[1]);
  assert_int_equal(det_nn_model_load_weights(models[1], paths[2], &err), DET_E_CORRUPT);
  assert_int_equal(det_nn_model_load_weights(models[1], "", &err), DET_E_INVALID);
  for (int i = 0; i < 3; ++i) unlink(paths[i]);
  rmdir(directory);
  for (int i = 0; i < 2; ++i) det_nn_model_free(models[i]);
}

static void what_cannot_be_is_refused(void **state) {
  (void)state;
  det_error err = DET_ERROR_INIT;
  struct records r;
  fill(&r);
  det_nn_model *model = (det_nn_model *)&err;
  assert_int_equal(det_nn_model_create(NULL, NULL, &model, &err), DET_E_INVALID);
  assert_null(model);
  assert_int_equal(det_nn_model_create("{}", NULL, &model, &err), DET_E_INVALID);
  assert_int_equal(det_nn_model_create("{\"class_name\"", NULL, &model, &err), DET_E_INVALID);
  det_nn_model_options options = DET_NN_MODEL_OPTIONS_INIT;
  options.backend = "referense";
  assert_int_equal(det_nn_model_create(small_model, &options, &model, &err), DET_E_INVALID);
  assert_non_null(strstr(err.message, "'reference'"));

  model = make_model(1, &err);
  r.labels[1] = 2;
  assert_int_equal(det_nn_model_train_on_batch(model, &r.batch, &err), DET_E_INVALID);
  assert_non_null(strstr(err.message, "record 1"));
  fill(&r);
  r.input.data = NULL;
  assert_int_equal(det_nn_model_train_on_batch(model, &r.batch, &err), DET_E_INVALID);
  fill(&r);
  r.x_shape[1] = INT64_MAX;
  assert_int_equal(det_nn_model_train_on_batch(model, &r.batch, &err), DET_E_INVALID);
  assert_int_equal(det_nn_model_train_on_batch(model, NULL, &err), DET_E_INVALID);
  assert_int_equal(det_nn_model_train_on_batch(NULL, &r.batch, &err), DET_E_INVALID);
  assert_int_equal(det_nn_model_set_learning_rate(model, NAN, &err), DET_E_INVALID);
  assert_int_equal(det_nn_model_set_steps(model, -1, 0, &err), DET_E_INVALID);
  assert_true(det_nn_model_learning_rate(model) == 0.1);
  det_nn_model_free(model);
  det_nn_model_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_model_trains_and_predicts),
      cmocka_unit_test(records_count_as_their_classes),
      cmocka_unit_test(what_is_restored_goes_on_bit_for_bit),
      cmocka_unit_test(gradients_are_told_last_layer_first),
      cmocka_unit_test(gradients_are_computed_where_they_are_wanted),
      cmocka_unit_test(files_are_written_and_read),
      cmocka_unit_test(what_cannot_be_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
