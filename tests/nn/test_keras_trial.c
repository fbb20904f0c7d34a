/* Trials through det/keras.h in one process. test_keras_face.py has those that are killed, and
 * ranks. */
#include <dirent.h>
#include <signal.h>

#include "tests/nn/keras_fixture.h"

static void a_trial_tells_of_all_that_happens(void **state) {
  (void)state;
  for (int is_sequence = 0; is_sequence < 2; ++is_sequence) {
    struct trial trial = {.is_sequence = is_sequence};
    fill_records(is_sequence ? 4 : RECORDS);
    expect_run(DET_OK, &trial, "");
    const int expected[] = {0, 1, 1, 2, 2, 2, 2, 6, 6, 2, 6, 6, 2};
    for (int kind = 1; kind <= DET_KERAS_TEST_END; ++kind)
      assert_int_equal(trial.seen[kind], expected[kind]);
    assert_true(trial.seen[DET_KERAS_CHECKPOINT_END] >= 1);
    assert_int_equal(trial.seen[DET_KERAS_CHECKPOINT_LOAD], 0);
    assert_int_equal(trial.epochs, is_sequence ? 3 : 0); /* two validations, one of training */
  }
}

static void look_at_event(det_keras_context *context, const det_keras_event *event) {
  const int has_metrics =
      event->kind == DET_KERAS_WORKLOAD_END || event->kind == DET_KERAS_BATCH_END ||
      event->kind == DET_KERAS_TEST_BATCH_END || event->kind == DET_KERAS_TEST_END;
  assert_int_equal(event->metric_count, has_metrics ? 1 : 0);
  if (has_metrics) {
    assert_string_equal(event->metrics[0].name,
                        event->kind == DET_KERAS_TEST_END ? "val_loss" : "loss");
    assert_true(event->metrics[0].value > 0);
  }
  assert_int_equal(event->directory != NULL, event->kind == DET_KERAS_CHECKPOINT_END);
  if (event->directory != NULL) assert_int_equal(access(event->directory, W_OK), 0);
  if (event->kind == DET_KERAS_WORKLOAD_BEGIN) assert_int_equal(event->batches, 3);
  assert_int_equal(det_keras_global_batch_size(context), 4);
  assert_int_equal(det_keras_per_slot_batch_size(context), 4);
  assert_non_null(det_core_info(det_keras_core(context)));
}

static void ask_to_leave(det_keras_context *context, const det_keras_event *event) {
  (void)context;
  if (event->kind == DET_KERAS_BATCH_END) raise(SIGTERM);
}

static void events_say_what_they_are_of(void **state) {
  (void)state;
  struct trial trial = {.event = look_at_event};
  fill_records(RECORDS);
  expect_run(DET_OK, &trial, "");
  struct trial stopped = {.stops = 1};
  expect_run(DET_OK, &stopped, "");
  assert_int_equal(stopped.seen[DET_KERAS_BATCH_END], 3); /* its workload */
  struct trial leaving = {.event = ask_to_leave};
  expect_run(DET_OK, &leaving, "");
  assert_int_equal(leaving.seen[DET_KERAS_BATCH_END], 3);
  assert_int_equal(leaving.seen[DET_KERAS_CHECKPOINT_END], 1);
}

static void a_function_that_fails_ends_the_run_with_what_it_says(void **state) {
  (void)state;
  fill_records(4);
  for (int place = BUILD; place < EVENT + DET_KERAS_CHECKPOINT_LOAD; ++place) {
    if (place == LOAD_STATE || place == EVENT) continue;
    struct trial said = {.is_sequence = 1, .fails_in = place, .answer = DET_E_NOT_FOUND};
    said.message = "there is no digits.csv";
    expect_run(DET_E_NOT_FOUND, &said, "there is no digits.csv");
    struct trial silent = {.is_sequence = 1, .fails_in = place, .answer = -7777};
    expect_run(DET_E_CALLBACK, &silent, "answered -7777");
    struct trial refused = {.is_sequence = 1, .fails_in = place, .answer = DET_KERAS_INVALID_HP};
    expect_run(DET_OK, &refused, "");
  }
  struct trial no_text = {.state = "\xff"};
  expect_run(DET_E_INVALID, &no_text, "UTF-8");
  struct trial positive = {.fails_in = BUILD, .answer = DET_DONE};
  expect_run(DET_E_CALLBACK, &positive, "its build() answered 1");
  struct trial of_workers = {.is_sequence = 1, .fails_in = BATCH, .answer = DET_E_IO};
  of_workers.fit = "{\"workers\": 2}";
  of_workers.message = "the disk is gone";
  expect_run(DET_E_IO, &of_workers, "the disk is gone");
}

static void a_state_that_cannot_be_loaded_ends_the_run(void **state) {
  (void)state;
  fill_records(RECORDS);
  det_keras_run_options options = usual_options();
  options.external_id = "again";
  struct trial trial = {0};
  err = (det_error)DET_ERROR_INIT;
  assert_int_equal(det_keras_run_trial(build, &trial, &options, &err), DET_OK);
  struct trial again = {0};
  assert_int_equal(det_keras_run_trial(build, &again, &options, &err), DET_OK);
  assert_int_equal(again.states, 1);
  assert_int_equal(again.seen[DET_KERAS_CHECKPOINT_LOAD], 1);
  for (int place = LOAD_STATE; place <= EVENT + DET_KERAS_CHECKPOINT_LOAD;
       place += EVENT + DET_KERAS_CHECKPOINT_LOAD - LOAD_STATE) {
    struct trial fails = {.fails_in = place, .answer = DET_E_CORRUPT, .message = "of another one"};
    expect(DET_E_CORRUPT, det_keras_run_trial(build, &fails, &options, &err), "of another one");
  }
  struct trial other = {.model =
                            "{\"class_name\": \"Sequential\", \"config\": {\"layers\": ["
                            "{\"class_name\": \"Dense\", \"config\": {\"units\": 3,"
                            " \"batch_input_shape\": [null, 3]}}]}}"};
  expect(DET_E_INVALID, det_keras_run_trial(build, &other, &options, &err), "dense");
}

static void callbacks_that_are_there_work(void **state) {
  (void)state;
  fill_records(RECORDS);
  struct trial plateau = {
      .callback =
          "{\"class_name\": \"ReduceLROnPlateau\", \"config\": {\"patience\": 1,"
          " \"min_delta\": 1e9, \"factor\": 0.5, \"mode\": \"min\"}}"};
  expect_run(DET_OK, &plateau, "");
  assert_true(fabs(plateau.learning_rate - 0.005) < 1e-6);
  struct trial stopping = {.callback =
                               "{\"class_name\": \"EarlyStopping\", \"config\": {\"patience\": 0,"
                               " \"baseline\": 0, \"start_from_epoch\": 0}}"};
  length = 30;
  expect_run(DET_OK, &stopping, "");
  length = 6;
  assert_int_equal(stopping.seen[DET_KERAS_TEST_END], 2); /* Keras never stops at the first */
  struct trial shown = {.callback = "\"TensorBoard\"",
                        .fit =
                            "{\"verbose\": false, \"validation_steps\": null,"
                            " \"class_weight\": null, \"max_queue_size\": 1}"};
  expect_run(DET_OK, &shown, "");
  struct trial part = {.fit = "{\"validation_steps\": 2, \"class_weight\": [1, 2]}"};
  expect_run(DET_OK, &part, "");
  assert_int_equal(part.seen[DET_KERAS_TEST_BATCH_END], 4);
}

/* The path of the only checkpoint of a storage, which has other folders too. */
static void find_checkpoint(const char *storage, char *path, size_t size) {
  DIR *directory = opendir(storage);
  assert_non_null(directory);
  char file[300];
  for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    snprintf(file, sizeof file, "%s/%.36s/load_data.json", storage, entry->d_name);
    if (access(file, R_OK) == 0) snprintf(path, size, "%s/%.36s", storage, entry->d_name);
  }
  closedir(directory);
}

static void a_checkpoint_gives_its_model(void **state) {
  (void)state;
  fill_records(RECORDS);
  char storage[128], path[256] = "";
  snprintf(storage, sizeof storage, "%s/of-one", home);
  det_keras_run_options options = usual_options();
  options.checkpoint_storage = storage;
  options.name = "named";
  struct trial trial = {0};
  assert_int_equal(det_keras_run_trial(build, &trial, &options, &err), DET_OK);
  find_checkpoint(storage, path, sizeof path);
  det_nn_model *loaded = NULL;
  expect(DET_OK, det_keras_load_model(path, &loaded, &err), "");
  const det_tensor *results = NULL;
  size_t count = 0;
  assert_int_equal(det_nn_model_predict_on_batch(loaded, &input, 1, &results, &count, &err),
                   DET_OK);
  assert_int_equal(results[0].shape[0], RECORDS);
  det_nn_model_free(loaded);
  expect(DET_E_INVALID, det_keras_load_model(storage, &loaded, &err), "load_data.json");
  assert_null(loaded);
}

static void one_batch_shows_whether_a_trial_runs(void **state) {
  (void)state;
  fill_records(RECORDS);
  det_keras_run_options options = usual_options();
  options.tests_one_batch = 1;
  options.config_json =
      "{\"searcher\": {\"name\": \"single\", \"metric\": \"val_loss\","
      " \"max_length\": {\"batches\": 6}}, \"hyperparameters\": {\"global_batch_size\": 4}}";
  options.hparams_json = NULL;
  struct trial trial = {0};
  err = (det_error)DET_ERROR_INIT;
  assert_int_equal(det_keras_run_trial(build, &trial, &options, &err), DET_OK);
  assert_int_equal(trial.seen[DET_KERAS_BATCH_END], 1);
  assert_int_equal(trial.seen[DET_KERAS_TEST_BATCH_END], 1);
  struct trial refused = {.fails_in = BUILD, .answer = DET_KERAS_INVALID_HP, .message = "too fast"};
  expect(DET_E_INVALID, det_keras_run_trial(build, &refused, &options, &err),
         "the hyperparameters cannot be trained: too fast");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_trial_tells_of_all_that_happens),
      cmocka_unit_test(events_say_what_they_are_of),
      cmocka_unit_test(a_function_that_fails_ends_the_run_with_what_it_says),
      cmocka_unit_test(a_state_that_cannot_be_loaded_ends_the_run),
      cmocka_unit_test(callbacks_that_are_there_work),
      cmocka_unit_test(a_checkpoint_gives_its_model),
      cmocka_unit_test(one_batch_shows_whether_a_trial_runs),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
