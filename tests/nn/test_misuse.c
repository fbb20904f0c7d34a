/* Every function of det/nn.h without what it needs: a code and a message, and never a crash. */
#include <det/nn.h>
#include <math.h>
#include <string.h>

#include "tests/cmocka.h"

static const char small_model[] =
    "{\"class_name\": \"Sequential\", \"config\": {\"layers\": ["
    "{\"class_name\": \"Dense\", \"config\": {\"units\": 2, \"batch_input_shape\": [null, 3]}}]}}";

static det_error refusal;

static void expect(det_status wanted, det_status status) {
  assert_int_equal(status, wanted);
  assert_int_equal(refusal.code, wanted);
  assert_true(strlen(refusal.message) > 0);
  refusal = (det_error)DET_ERROR_INIT;
}

static void a_model_that_is_null_is_refused(void **state) {
  (void)state;
  char *text = NULL;
  const det_tensor *tensors = NULL;
  size_t count = 7;
  int64_t steps = 7;
  det_nn_batch batch = DET_NN_BATCH_INIT;
  det_error *err = &refusal;
  expect(DET_E_INVALID, det_nn_model_to_json(NULL, &text, err));
  expect(DET_E_INVALID, det_nn_model_summary(NULL, &text, err));
  expect(DET_E_INVALID, det_nn_model_compile(NULL, "{}", err));
  expect(DET_E_INVALID, det_nn_model_train_on_batch(NULL, &batch, err));
  expect(DET_E_INVALID, det_nn_model_test_on_batch(NULL, &batch, err));
  expect(DET_E_INVALID, det_nn_model_predict_on_batch(NULL, NULL, 0, &tensors, &count, err));
  expect(DET_E_INVALID, det_nn_model_results(NULL, &tensors, &count, err));
  expect(DET_E_INVALID, det_nn_model_weights(NULL, &tensors, &count, err));
  expect(DET_E_INVALID, det_nn_model_optimizer_state(NULL, &tensors, &count, err));
  assert_true(tensors == NULL && count == 0);
  expect(DET_E_INVALID, det_nn_model_set_steps(NULL, 0, 0, err));
  expect(DET_E_INVALID, det_nn_model_set_learning_rate(NULL, 0.1, err));
  expect(DET_E_INVALID, det_nn_model_observe_gradients(NULL, NULL, NULL, NULL, err));
  expect(DET_E_INVALID, det_nn_model_place_gradients(NULL, NULL, 0, err));
  expect(DET_E_INVALID, det_nn_model_save_weights(NULL, "w", err));
  expect(DET_E_INVALID, det_nn_model_load_weights(NULL, "w", err));
  expect(DET_E_INVALID, det_nn_model_save_training_state(NULL, "s", err));
  expect(DET_E_INVALID, det_nn_model_load_training_state(NULL, "s", err));
  expect(DET_E_INVALID, det_nn_model_write_onnx(NULL, "o", err));
  det_nn_model_steps(NULL, &steps, NULL);
  assert_int_equal(steps, 0);
  assert_int_equal(det_nn_model_metric_count(NULL), 0);
  assert_null(det_nn_model_metric_name(NULL, 0));
  assert_true(isnan(det_nn_model_metric(NULL, 0)));
  assert_true(isnan(det_nn_model_learning_rate(NULL)));
  assert_int_equal(det_nn_model_is_trained(NULL, 0), 0);
  det_nn_model_reset_metrics(NULL);
  det_nn_model_free(NULL);
}

static void arguments_that_are_null_are_refused(void **state) {
  (void)state;
  det_error *err = &refusal;
  det_nn_model *model = NULL;
  size_t count = 7;
  const det_tensor *tensors = NULL;
  expect(DET_E_INVALID, det_nn_model_load(NULL, NULL, &model, err));
  assert_null(model);
  expect(DET_E_INVALID, det_nn_model_load("m.keras", NULL, NULL, err));
  expect(DET_E_INVALID, det_nn_model_load("", NULL, &model, err));
  expect(DET_E_INVALID, det_nn_model_create(NULL, NULL, &model, err));
  expect(DET_E_INVALID, det_nn_model_create(small_model, NULL, NULL, err));
  expect(DET_E_INVALID, det_nn_model_create("{", NULL, &model, err));
  assert_null(model);
  assert_int_equal(det_nn_model_create(small_model, NULL, &model, err), DET_OK);
  expect(DET_E_INVALID, det_nn_model_to_json(model, NULL, err));
  expect(DET_E_INVALID, det_nn_model_summary(model, NULL, err));
  expect(DET_E_INVALID, det_nn_model_compile(model, NULL, err));
  expect(DET_E_STATE, det_nn_model_set_steps(model, 0, 0, err));
  expect(DET_E_STATE, det_nn_model_set_learning_rate(model, 0.1, err));
  expect(DET_E_STATE, det_nn_model_optimizer_state(model, &tensors, &count, err));
  expect(DET_E_STATE, det_nn_model_results(model, &tensors, &count, err));
  assert_int_equal(det_nn_model_compile(model, "{\"loss\": \"mse\"}", err), DET_OK);
  expect(DET_E_INVALID, det_nn_model_train_on_batch(model, NULL, err));
  expect(DET_E_INVALID, det_nn_model_test_on_batch(model, NULL, err));
  expect(DET_E_INVALID, det_nn_model_predict_on_batch(model, NULL, 1, &tensors, &count, err));
  expect(DET_E_INVALID, det_nn_model_weights(model, NULL, &count, err));
  expect(DET_E_INVALID, det_nn_model_weights(model, &tensors, NULL, err));
  expect(DET_E_INVALID, det_nn_model_set_steps(model, -1, 0, err));
  expect(DET_E_INVALID, det_nn_model_set_steps(model, 0, INT64_MAX, err));
  expect(DET_E_INVALID, det_nn_model_set_learning_rate(model, (double)NAN, err));
  for (int i = 0; i < 2; ++i) {
    const char *path = i == 0 ? NULL : "";
    expect(DET_E_INVALID, det_nn_model_save_weights(model, path, err));
    expect(DET_E_INVALID, det_nn_model_load_weights(model, path, err));
    expect(DET_E_INVALID, det_nn_model_save_training_state(model, path, err));
    expect(DET_E_INVALID, det_nn_model_load_training_state(model, path, err));
    expect(DET_E_INVALID, det_nn_model_write_onnx(model, path, err));
  }
  /* An error that nobody wants is not written. */
  assert_int_equal(det_nn_model_compile(model, NULL, NULL), DET_E_INVALID);
  det_nn_model_free(model);
}

static void tensors_that_cannot_be_are_refused(void **state) {
  (void)state;
  float x[3] = {0};
  const int64_t shape[2] = {1, 3}, negative[2] = {-1, -3}, large[2] = {INT64_MAX, INT64_MAX};
  const det_tensor *results = NULL;
  size_t count = 0;
  det_nn_model *model = NULL;
  assert_int_equal(det_nn_model_create(small_model, NULL, &model, &refusal), DET_OK);
  for (int i = 0; i < 7; ++i) {
    det_tensor input = DET_TENSOR_INIT;
    input.data = i == 0 ? NULL : x;
    input.dtype = i == 1 ? (det_dtype)12345 : DET_DTYPE_F32;
    input.dimensions = i == 2 ? 1000000 : 2;
    input.shape = i == 3 ? NULL : i == 4 ? negative : i == 5 ? large : shape;
    if (i == 6) input.struct_size = 1;
    det_status status = det_nn_model_predict_on_batch(model, &input, 1, &results, &count, &refusal);
    expect(i == 6 ? status : DET_E_INVALID, status);
    assert_int_not_equal(status, DET_OK);
    assert_null(results);
  }
  det_nn_model_free(model);
}

int main(void) {
  refusal = (det_error)DET_ERROR_INIT;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_model_that_is_null_is_refused),
      cmocka_unit_test(arguments_that_are_null_are_refused),
      cmocka_unit_test(tensors_that_cannot_be_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
