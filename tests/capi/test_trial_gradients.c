#include <det/trial_gradients.h>

#include "tests/capi/fixture.h"

static void one_process_adds_up_its_batches(void **state) {
  struct fixture *f = *state;
  det_trial_gradients_options options = DET_TRIAL_GRADIENTS_OPTIONS_INIT;
  options.aggregation_frequency = 2;
  options.gradient_compression = 1; /* of nothing: nothing is sent */
  det_trial_gradient tensors[2];
  for (int i = 0; i < 2; ++i) tensors[i] = (det_trial_gradient)DET_TRIAL_GRADIENT_INIT;
  tensors[0].count = 2;
  det_trial_gradients *gradients;
  assert_ok(det_trial_gradients_create(NULL, tensors, 2, &options, &gradients, &f->err));
  float first[] = {1, 2}, second[] = {3, 5};
  int32_t apply = 7;
  assert_ok(det_trial_gradients_add(gradients, 0, first, first, &f->err));
  assert_ok(det_trial_gradients_add(gradients, 1, NULL, NULL, &f->err)); /* has no elements */
  assert_ok(det_trial_gradients_step(gradients, &apply, &f->err));
  assert_int_equal(apply, 0);
  assert_float_equal(first[1], 2, 0);
  assert_ok(det_trial_gradients_add(gradients, 0, second, second, &f->err));
  assert_ok(det_trial_gradients_add(gradients, 1, NULL, NULL, &f->err));
  assert_ok(det_trial_gradients_step(gradients, &apply, &f->err));
  assert_int_equal(apply, 1);
  assert_float_equal(second[0], 2, 0);
  assert_float_equal(second[1], 3.5, 0);
  det_trial_gradients_free(gradients);
  det_trial_gradients_free(NULL);
}

static void impossible_arguments_are_refused(void **state) {
  struct fixture *f = *state;
  det_trial_gradient tensor = DET_TRIAL_GRADIENT_INIT;
  tensor.count = 1;
  det_trial_gradients_options options = DET_TRIAL_GRADIENTS_OPTIONS_INIT;
  det_trial_gradients *gradients;
  assert_fails(det_trial_gradients_create(NULL, NULL, 1, NULL, &gradients, &f->err), DET_E_INVALID,
               "tensors must not be NULL");
  assert_null(gradients);
  assert_fails(det_trial_gradients_create(NULL, &tensor, 1, NULL, NULL, &f->err), DET_E_INVALID,
               "out must not be NULL");
  assert_fails(det_trial_gradients_create(NULL, &tensor, (size_t)-1, NULL, &gradients, &f->err),
               DET_E_INVALID, ": -1");
  tensor.count = (size_t)-1;
  assert_fails(det_trial_gradients_create(NULL, &tensor, 1, NULL, &gradients, &f->err),
               DET_E_INVALID, ": -1");
  tensor.count = 1;
  options.reduction = 9;
  assert_fails(det_trial_gradients_create(NULL, &tensor, 1, &options, &gradients, &f->err),
               DET_E_INVALID, "reduction is 9");
  tensor.is_sparse = 1;
  options.reduction = 0;
  options.aggregation_frequency = 4;
  assert_fails(det_trial_gradients_create(NULL, &tensor, 1, &options, &gradients, &f->err),
               DET_E_UNSUPPORTED, "dense gradients");
  assert_ok(det_trial_gradients_create(NULL, &tensor, 1, NULL, &gradients, &f->err));
  float value = 1;
  int32_t apply;
  assert_fails(det_trial_gradients_add(gradients, 0, NULL, &value, &f->err), DET_E_INVALID, "NULL");
  assert_fails(det_trial_gradients_add(gradients, 1, &value, &value, &f->err), DET_E_INVALID,
               "only 1 tensors");
  void *memory = &value;
  size_t bytes = 1;
  assert_ok(det_trial_gradients_memory(gradients, &memory, &bytes, &f->err)); /* one process */
  assert_null(memory);
  assert_int_equal(bytes, 0);
  assert_fails(det_trial_gradients_memory(gradients, NULL, &bytes, &f->err), DET_E_INVALID, "out");
  assert_fails(det_trial_gradients_memory(gradients, &memory, NULL, &f->err), DET_E_INVALID,
               "out_bytes");
  assert_fails(det_trial_gradients_memory(NULL, &memory, &bytes, &f->err), DET_E_INVALID,
               "gradients");
  assert_fails(det_trial_gradients_step(gradients, NULL, &f->err), DET_E_INVALID, "out_apply");
  assert_fails(det_trial_gradients_step(NULL, &apply, &f->err), DET_E_INVALID, "gradients");
  det_trial_gradients_free(gradients);
}

static void metrics_of_one_process_are_their_own_means(void **state) {
  struct fixture *f = *state;
  const double weight = 3;
  char *averages = NULL;
  assert_ok(det_trial_average_metrics(NULL, "{\"loss\": NaN, \"acc\": 0.5, \"step\": 2}", &weight,
                                      &averages, &f->err));
  assert_string_equal(averages, "{\n  \"acc\": 0.5,\n  \"loss\": NaN,\n  \"step\": 2\n}");
  det_free(averages);
  assert_fails(det_trial_average_metrics(NULL, NULL, NULL, &averages, &f->err), DET_E_INVALID,
               "expected a JSON object");
  assert_fails(det_trial_average_metrics(NULL, "{}", NULL, NULL, &f->err), DET_E_INVALID,
               "out_json");
}

static void arrays_of_one_process_stay_what_they_are(void **state) {
  struct fixture *f = *state;
  float weights[] = {1, 2};
  const int64_t shape[] = {2}, negative[] = {-2};
  det_tensor array = DET_TENSOR_INIT;
  array.name = "weights";
  array.dtype = DET_DTYPE_F32;
  array.data = weights;
  array.dimensions = 1;
  array.shape = shape;
  assert_ok(det_trial_broadcast(NULL, &array, 1, &f->err));
  assert_ok(det_trial_broadcast(NULL, NULL, 0, &f->err));
  assert_float_equal(weights[1], 2, 0);
  array.shape = negative;
  assert_fails(det_trial_broadcast(NULL, &array, 1, &f->err), DET_E_INVALID, "'weights'");
  assert_fails(det_trial_broadcast(NULL, NULL, 1, &f->err), DET_E_INVALID, "tensors must not be");
}

int test_trial_gradients(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(one_process_adds_up_its_batches, setup_home, teardown),
      cmocka_unit_test_setup_teardown(impossible_arguments_are_refused, setup_home, teardown),
      cmocka_unit_test_setup_teardown(metrics_of_one_process_are_their_own_means, setup_home,
                                      teardown),
      cmocka_unit_test_setup_teardown(arrays_of_one_process_stay_what_they_are, setup_home,
                                      teardown),
  };
  return cmocka_run_group_tests_name("trial_gradients", tests, NULL, NULL);
}
