#include "tests/capi/fixture.h"
#include "tests/storage_id.h"

#define META "{\"steps_completed\": 7}"
#define NAME "model.safetensors"

static det_tensor tensor(const char *name, det_dtype dtype, size_t dimensions, const int64_t *shape,
                         void *data) {
  det_tensor made = DET_TENSOR_INIT;
  made.name = name;
  made.dtype = dtype;
  made.dimensions = dimensions;
  made.shape = shape;
  made.data = data;
  return made;
}

static float weights[2][3] = {{1, 2, 3}, {4, 5, 6}};
static int64_t step = 42;
static const int64_t weights_shape[] = {2, 3};

static det_checkpoint_writer *begin(struct fixture *f) {
  det_checkpoint_writer *store;
  assert_ok(det_checkpoint_writer_begin(det_core_checkpoint(f->core), META, NULL, &store, &f->err));
  return store;
}

/* A checkpoint with both, and opens it. */
static det_tensors *saved(struct fixture *f) {
  det_checkpoint_writer *store = begin(f);
  const det_tensor given[] = {tensor("weights", DET_DTYPE_F32, 2, weights_shape, weights),
                              tensor("step", DET_DTYPE_I64, 0, NULL, &step)};
  det_tensors_write_options options = DET_TENSORS_WRITE_OPTIONS_INIT;
  options.metadata_json = "{\"format\": \"pt\"}";
  assert_ok(det_tensors_write(store, NAME, given, 2, &options, &f->err));
  assert_ok(det_checkpoint_writer_commit(store, &f->err));
  det_checkpoint_reader *restore;
  assert_ok(det_checkpoint_reader_open(det_core_checkpoint(f->core),
                                       det_checkpoint_writer_id(store), NULL, &restore, &f->err));
  det_tensors *tensors;
  assert_ok(det_tensors_open(restore, NAME, &tensors, &f->err));
  det_checkpoint_reader_free(restore);
  det_checkpoint_writer_free(store);
  return tensors;
}

static void tensors_are_listed(void **state) {
  det_tensors *tensors = saved(*state);
  assert_int_equal(det_tensors_count(tensors), 2);
  assert_string_equal(det_tensors_name(tensors, 0), "step");
  assert_int_equal(det_tensors_dimensions(tensors, 0), 0);
  assert_non_null(det_tensors_shape(tensors, 0));
  assert_int_equal(det_tensors_size(tensors, 0), 8);
  assert_int_equal(det_tensors_find(tensors, "weights"), 1);
  assert_int_equal(det_tensors_dtype(tensors, 1), DET_DTYPE_F32);
  assert_int_equal(det_tensors_dimensions(tensors, 1), 2);
  assert_int_equal(det_tensors_shape(tensors, 1)[1], 3);
  assert_int_equal(det_tensors_size(tensors, 1), 24);
  assert_string_equal(det_tensors_metadata(tensors), "{\"format\":\"pt\"}");
  assert_int_equal(det_tensors_find(tensors, "other"), -1);
  assert_null(det_tensors_name(tensors, 2));
  assert_null(det_tensors_shape(tensors, 2));
  assert_int_equal(det_tensors_dtype(tensors, 2), 0);
  assert_int_equal(det_tensors_size(tensors, 2), 0);
  det_tensors_free(tensors);
}

static int32_t count_calls(const det_progress *progress, void *user_data) {
  assert_int_equal(progress->total_bytes, 32);
  ++*(int *)user_data;
  return 0;
}

static void tensors_and_parts_are_read(void **state) {
  struct fixture *f = *state;
  det_tensors *tensors = saved(f);
  float whole[2][3] = {{0}};
  int64_t number = 0;
  const det_tensor all[] = {tensor("weights", DET_DTYPE_F32, 2, weights_shape, whole),
                            tensor("step", DET_DTYPE_I64, 0, NULL, &number)};
  int calls = 0;
  det_tensors_read_options options = DET_TENSORS_READ_OPTIONS_INIT;
  options.progress = count_calls;
  options.user_data = &calls;
  assert_ok(det_tensors_read(tensors, all, 2, &options, &f->err));
  assert_memory_equal(whole, weights, sizeof weights);
  assert_int_equal(number, 42);
  assert_true(calls > 0);

  /* Without the shape of the whole, too, and at its beginning. */
  float column[2] = {0};
  const int64_t shape[] = {2, 1}, offset[] = {0, 1}, first[] = {0, 0};
  det_tensor part = tensor("weights", DET_DTYPE_F32, 2, shape, column);
  part.offset = offset;
  assert_ok(det_tensors_read(tensors, &part, 1, NULL, &f->err));
  assert_true(column[0] == 2 && column[1] == 5);
  part.offset = first;
  part.global_shape = weights_shape;
  assert_ok(det_tensors_read(tensors, &part, 1, NULL, &f->err));
  assert_true(column[0] == 1 && column[1] == 4);
  assert_ok(det_tensors_read(tensors, NULL, 0, NULL, &f->err));
  det_tensors_free(tensors);
}

static void wrong_tensors_are_refused(void **state) {
  struct fixture *f = *state;
  det_checkpoint_writer *store = begin(f);
  const int64_t negative[] = {2, -3};
  det_tensor wrong = tensor("weights", DET_DTYPE_F32, 2, weights_shape, NULL);
  assert_fails(det_tensors_write(store, NAME, &wrong, 1, NULL, &f->err), DET_E_INVALID,
               "tensor 'weights': its data is NULL");
  wrong.data = weights;
  wrong.shape = negative;
  assert_fails(det_tensors_write(store, NAME, &wrong, 1, NULL, &f->err), DET_E_INVALID,
               "negative number -3");
  wrong.shape = NULL;
  assert_fails(det_tensors_write(store, NAME, &wrong, 1, NULL, &f->err), DET_E_INVALID,
               "shape is NULL");
  wrong.shape = weights_shape;
  wrong.dtype = 99;
  assert_fails(det_tensors_write(store, NAME, &wrong, 1, NULL, &f->err), DET_E_INVALID,
               "no dtype 99");
  wrong.dtype = DET_DTYPE_F32;
  wrong.device = 7;
  assert_fails(det_tensors_write(store, NAME, &wrong, 1, NULL, &f->err), DET_E_INVALID,
               "no device 7");
  wrong.device = DET_DEVICE_HOST;
  wrong.name = NULL;
  assert_fails(det_tensors_write(store, NAME, &wrong, 1, NULL, &f->err), DET_E_INVALID,
               "the name of a tensor");
  wrong.name = "weights";
  wrong.struct_size = 0;
  assert_fails(det_tensors_write(store, NAME, &wrong, 1, NULL, &f->err), DET_E_INVALID,
               "struct_size");
  const det_tensor twice[] = {tensor("x", DET_DTYPE_I64, 0, NULL, &step),
                              tensor("x", DET_DTYPE_I64, 0, NULL, &step)};
  assert_fails(det_tensors_write(store, NAME, twice, 2, NULL, &f->err), DET_E_INVALID,
               "'x' is given twice");
  assert_fails(det_tensors_write(store, "model.bin", twice, 1, NULL, &f->err), DET_E_INVALID,
               ".safetensors");
  det_tensors_write_options options = DET_TENSORS_WRITE_OPTIONS_INIT;
  options.metadata_json = "{\"a\": 1}";
  assert_fails(det_tensors_write(store, NAME, twice, 1, &options, &f->err), DET_E_INVALID,
               "the value of 'a' is no text");
  assert_fails(det_tensors_write(NULL, NAME, twice, 1, NULL, &f->err), DET_E_INVALID, "writer");
  assert_fails(det_tensors_write(store, NAME, NULL, 1, NULL, &f->err), DET_E_INVALID, "tensors");
  assert_ok(det_tensors_write(store, NAME, twice, 1, NULL, &f->err));
  assert_fails(det_tensors_write(store, NAME, twice, 1, NULL, &f->err), DET_E_CONFLICT,
               "it is there already");
  det_checkpoint_writer_free(store);
}

static void what_is_not_there_is_not_opened(void **state) {
  struct fixture *f = *state;
  det_tensors *tensors = (det_tensors *)f;
  assert_fails(det_tensors_open_path("/nowhere/x.safetensors", &tensors, &f->err), DET_E_NOT_FOUND,
               "/nowhere");
  assert_null(tensors);
  char path[128];
  snprintf(path, sizeof path, "%s/x.safetensors", f->home);
  assert_fails(det_tensors_open_path(path, &tensors, &f->err), DET_E_NOT_FOUND, "index.json");
  assert_fails(det_tensors_open(NULL, NAME, &tensors, &f->err), DET_E_INVALID, "reader");
  assert_int_equal(det_tensors_count(NULL), 0);
  assert_int_equal(det_tensors_find(NULL, "x"), -1);
  assert_null(det_tensors_metadata(NULL));
  det_tensors_free(NULL);
}

struct state {
  float weights[3];
  int64_t step;
};

static void state_is_saved_and_loaded(void **state) {
  struct fixture *f = *state;
  det_checkpoint_context *checkpoint = det_core_checkpoint(f->core);
  struct state kept = {{1, 2, 3}, 42}, back = {{0}, 0};
  const det_buffer of_kept[] = {{"weights", kept.weights, sizeof kept.weights},
                                {"step", &kept.step, sizeof kept.step},
                                {"empty", NULL, 0}};
  const det_buffer of_back[] = {{"step", &back.step, sizeof back.step},
                                {"weights", back.weights, sizeof back.weights}};
  int64_t steps = -1;
  /* Nothing to begin with. */
  assert_ok(det_state_load(checkpoint, NULL, of_back, 2, &steps, &f->err));
  assert_int_equal(steps, 0);
  assert_int_equal(back.step, 0);

  char *id;
  assert_ok(det_state_save(checkpoint, 7, of_kept, 3, &id, &f->err));
  assert_int_equal(strlen(id), 36);
  assert_ok(det_state_load(checkpoint, id, of_back, 2, &steps, &f->err));
  assert_int_equal(steps, 7);
  assert_memory_equal(back.weights, kept.weights, sizeof kept.weights);
  assert_int_equal(back.step, 42);
  assert_ok(det_state_load(checkpoint, id, NULL, 0, NULL, &f->err));
  assert_ok(det_state_save(checkpoint, 8, NULL, 0, NULL, &f->err));
  det_free(id);
}

static void wrong_state_is_refused(void **state) {
  struct fixture *f = *state;
  det_checkpoint_context *checkpoint = det_core_checkpoint(f->core);
  char bytes[8] = {0};
  const det_buffer one = {"one", bytes, 8}, shorter = {"one", bytes, 7},
                   other = {"other", bytes, 8}, unnamed = {NULL, bytes, 8},
                   nowhere = {"one", NULL, 8}, negative = {"one", bytes, (size_t)-1},
                   twice[] = {{"one", bytes, 8}, {"one", bytes, 8}};
  char *id = (char *)bytes;
  int64_t steps = 5;
  assert_fails(det_state_save(NULL, 1, &one, 1, &id, &f->err), DET_E_INVALID, "checkpoint");
  assert_null(id);
  assert_fails(det_state_save(checkpoint, 1, NULL, 1, &id, &f->err), DET_E_INVALID, "buffers");
  assert_fails(det_state_save(checkpoint, 1, &unnamed, 1, &id, &f->err), DET_E_INVALID, "name");
  assert_fails(det_state_save(checkpoint, 1, &nowhere, 1, &id, &f->err), DET_E_INVALID, "one");
  assert_fails(det_state_save(checkpoint, 1, twice, 2, &id, &f->err), DET_E_INVALID, "twice");
  assert_fails(det_state_save(checkpoint, 1, &one, (size_t)-1, &id, &f->err), DET_E_INVALID,
               "count must not be negative: -1");
  assert_fails(det_state_save(checkpoint, 1, &negative, 1, &id, &f->err), DET_E_INVALID,
               "size of a buffer must not be negative: -1");
  assert_ok(det_state_save(checkpoint, 1, &one, 1, &id, &f->err));
  assert_fails(det_state_load(checkpoint, id, &one, (size_t)-1, &steps, &f->err), DET_E_INVALID,
               "count must not be negative: -1");
  assert_fails(det_state_load(NULL, id, &one, 1, &steps, &f->err), DET_E_INVALID, "checkpoint");
  assert_int_equal(steps, 0);
  assert_fails(det_state_load(checkpoint, id, &shorter, 1, &steps, &f->err), DET_E_INVALID, "7");
  assert_fails(det_state_load(checkpoint, id, &other, 1, &steps, &f->err), DET_E_NOT_FOUND,
               "other");
  assert_fails(det_state_load(checkpoint, "absent", &one, 1, &steps, &f->err), DET_E_NOT_FOUND,
               "absent");
  det_free(id);
}

static void dtypes_have_names_and_bits(void **state) {
  (void)state;
  for (det_dtype dtype = 1; dtype <= DET_DTYPE_U64; ++dtype) {
    assert_int_equal(det_dtype_from_name(det_dtype_name(dtype)), dtype);
    assert_true(det_dtype_bits(dtype) > 0);
  }
  assert_string_equal(det_dtype_name(DET_DTYPE_F8_E4M3), "F8_E4M3");
  assert_string_equal(det_dtype_name(DET_DTYPE_C64), "C64");
  assert_int_equal(det_dtype_bits(DET_DTYPE_BF16), 16);
  assert_null(det_dtype_name(0));
  assert_null(det_dtype_name(DET_DTYPE_U64 + 1));
  assert_int_equal(det_dtype_bits(-1), 0);
  assert_int_equal(det_dtype_from_name("f32"), 0);
  assert_int_equal(det_dtype_from_name(NULL), 0);
}

int test_tensors(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(tensors_are_listed, setup, teardown),
      cmocka_unit_test_setup_teardown(tensors_and_parts_are_read, setup, teardown),
      cmocka_unit_test_setup_teardown(wrong_tensors_are_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(what_is_not_there_is_not_opened, setup, teardown),
      cmocka_unit_test_setup_teardown(state_is_saved_and_loaded, setup, teardown),
      cmocka_unit_test_setup_teardown(wrong_state_is_refused, setup, teardown),
      cmocka_unit_test(dtypes_have_names_and_bits),
  };
  return cmocka_run_group_tests_name("det/tensors.h", tests, NULL, NULL);
}
