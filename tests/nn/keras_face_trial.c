/* The trial of keras_trial.cc through det/keras.h, for test_keras_face.py: it writes the same
 * lines. With DIE_AFTER_BATCH=N its process dies within that batch; learning rates above REFUSE are
 * invalid. */
#include <det/keras.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TRAINING = 48, VALIDATION = 16, PIXELS = 4 };

struct records {
  float x[TRAINING * PIXELS];
  int64_t y[TRAINING];
  int64_t count, batch_size;
};

struct hooks {
  int64_t rank, total;
};

static struct records training, validation;
static struct hooks hooks;

static int64_t number_of(const char *variable) {
  const char *text = getenv(variable);
  return text != NULL ? atoll(text) : -1;
}

static void fill(struct records *records, int64_t count, int64_t batch_size) {
  records->count = count;
  records->batch_size = batch_size;
  for (int64_t i = 0; i < count * PIXELS; ++i) records->x[i] = sinf((float)(5 * i + 1));
  for (int64_t i = 0; i < count; ++i)
    records->y[i] = records->x[PIXELS * i] > records->x[PIXELS * i + 1] ? 1 : 0;
}

/* A batch and what it points to, one for each thread. */
struct view {
  det_nn_batch batch;
  det_tensor x, y;
  int64_t shape[3];
};
static _Thread_local struct view view;

static const det_nn_batch *rows(struct records *records, int64_t count) {
  view.shape[0] = count;
  view.shape[1] = view.shape[2] = 2;
  view.x = (det_tensor)DET_TENSOR_INIT;
  view.y = (det_tensor)DET_TENSOR_INIT;
  view.x.data = records->x;
  view.y.data = records->y;
  view.x.dtype = DET_DTYPE_F32;
  view.y.dtype = DET_DTYPE_I64;
  view.x.dimensions = 3;
  view.y.dimensions = 1;
  view.x.shape = view.y.shape = view.shape;
  view.batch = (det_nn_batch)DET_NN_BATCH_INIT;
  view.batch.inputs = &view.x;
  view.batch.truths = &view.y;
  view.batch.input_count = view.batch.result_count = 1;
  return &view.batch;
}

/* From the last batch to the first, each in the place of the one before it on this thread. */
static det_status reversed_batch(int64_t index, det_nn_batch *out, void *user_data,
                                 det_error *err) {
  (void)err;
  static _Thread_local struct records batch;
  const struct records *records = user_data;
  const int64_t size = records->batch_size;
  const int64_t begin = (records->count / size - 1 - index) * size;
  memcpy(batch.x, records->x + begin * PIXELS, (size_t)(size * PIXELS) * sizeof *batch.x);
  memcpy(batch.y, records->y + begin, (size_t)size * sizeof *batch.y);
  *out = *rows(&batch, size);
  return DET_OK;
}

static det_keras_data data_of(struct records *records) {
  det_keras_data data = DET_KERAS_DATA_INIT;
  const char *kind = getenv("DATA");
  if (kind == NULL || strcmp(kind, "arrays") == 0) {
    data.arrays = rows(records, records->count);
  } else {
    data.batch_count = records->count / records->batch_size;
    data.batch = reversed_batch;
    data.user_data = records;
  }
  return data;
}

static void say_weights(det_nn_model *model) {
  const det_tensor *weights = NULL;
  size_t count = 0;
  if (det_nn_model_weights(model, &weights, &count, NULL) != DET_OK) return;
  for (size_t i = 0; i < count; ++i) {
    int64_t size = 1;
    for (size_t j = 0; j < weights[i].dimensions; ++j) size *= weights[i].shape[j];
    printf("weight %s", weights[i].name);
    for (int64_t j = 0; j < size; ++j) printf(" %a", (double)((const float *)weights[i].data)[j]);
    printf("\n");
  }
}

static void say_metric(const det_keras_event *event, const char *name) {
  for (size_t i = 0; i < event->metric_count; ++i)
    if (strcmp(event->metrics[i].name, name) == 0) printf("%s %a\n", name, event->metrics[i].value);
}

static void say(const det_keras_event *event, det_nn_model *model) {
  const long long index = (long long)event->index, batches = (long long)event->batches;
  switch (event->kind) {
    case DET_KERAS_TRAIN_BEGIN:
      puts("train_begin");
      break;
    case DET_KERAS_TRAIN_END:
      puts("train_end");
      say_weights(model);
      break;
    case DET_KERAS_EPOCH_BEGIN:
      printf("epoch_begin %lld\n", index);
      break;
    case DET_KERAS_EPOCH_END:
      printf("epoch_end %lld\n", index);
      break;
    case DET_KERAS_WORKLOAD_BEGIN:
      printf("workload_begin %lld %lld\n", index, batches);
      break;
    case DET_KERAS_WORKLOAD_END:
      printf("workload_end %lld\n", index);
      say_metric(event, "loss");
      break;
    case DET_KERAS_BATCH_END:
      printf("batch_end %lld\n", index);
      break;
    case DET_KERAS_TEST_END:
      puts("test_end");
      say_metric(event, "val_loss");
      break;
    case DET_KERAS_CHECKPOINT_END:
      puts("checkpoint_end");
      break;
  }
  fflush(stdout);
}

static det_status on_event(det_keras_context *context, const det_keras_event *event,
                           void *user_data, det_error *err) {
  (void)err;
  struct hooks *told = user_data;
  if (told->rank == 0) say(event, det_keras_model(context));
  if (event->kind == DET_KERAS_WORKLOAD_BEGIN) told->total = event->index;
  if (event->kind == DET_KERAS_BATCH_END && ++told->total == number_of("DIE_AFTER_BATCH"))
    kill(getpid(), SIGKILL);
  if (event->kind == DET_KERAS_BATCH_END && told->total == number_of("STOP_AFTER_BATCH"))
    det_keras_set_stop_requested(context, 1);
  return DET_OK;
}

static det_status get_state(const char **out, void *user_data, det_error *err) {
  (void)user_data;
  (void)err;
  *out = "[1]";
  return DET_OK;
}

static det_status load_state(const char *state, void *user_data, det_error *err) {
  const struct hooks *told = user_data;
  if (strcmp(state, "[1]") != 0) return det_keras_fail(err, DET_E_CORRUPT, state);
  if (told->rank == 0) puts("load_state");
  return DET_OK;
}

static det_status add_callbacks(det_keras_context *context, det_error *err) {
  hooks.rank = det_distributed_rank(det_core_distributed(det_keras_core(context)));
  det_keras_callback callback = DET_KERAS_CALLBACK_INIT;
  callback.on_event = on_event;
  callback.get_state = get_state;
  callback.load_state = load_state;
  callback.user_data = &hooks;
  const det_status status = det_keras_add_callback(context, &callback, err);
  if (status != DET_OK) return status;
  return det_keras_add_known_callback(
      context,
      getenv("BEST") != NULL
          ? "{\"class_name\": \"EarlyStopping\", \"config\":"
            " {\"patience\": 1, \"min_delta\": 1e9, \"restore_best_weights\": true}}"
          : "{\"class_name\": \"EarlyStopping\", \"config\": {\"patience\": 100}}",
      err);
}

static det_status configure(det_keras_context *context, det_error *err) {
  const char *kind = getenv("DATA");
  char fit[256];
  snprintf(fit, sizeof fit, "{\"shuffle\": %s, \"workers\": %d, \"max_queue_size\": 4%s}",
           getenv("IN_ORDER") != NULL ? "false" : "true",
           kind != NULL && strcmp(kind, "workers") == 0 ? 3 : 0,
           getenv("CLASS_WEIGHT") != NULL ? ", \"class_weight\": [1, 0]" : "");
  return det_keras_configure_fit(context, fit, err);
}

static det_status build(det_keras_context *context, void *user_data, det_error *err) {
  (void)user_data;
  const int64_t size = det_keras_per_slot_batch_size(context);
  fill(&training, TRAINING, size);
  fill(&validation, VALIDATION, size);
  const double rate =
      det_info_hparam_double(det_core_info(det_keras_core(context)), "learning_rate", 0);
  if (getenv("REFUSE") != NULL && rate > atof(getenv("REFUSE")))
    return det_keras_fail(err, DET_KERAS_INVALID_HP, "too fast");
  char compiled[256];
  snprintf(compiled, sizeof compiled,
           "{\"optimizer\": {\"class_name\": \"SGD\", \"config\": {\"learning_rate\": %g,"
           " \"momentum\": 0.9}}, \"loss\": \"sparse_categorical_crossentropy\","
           " \"metrics\": [\"accuracy\"]}",
           rate);
  det_keras_data data = data_of(&training);
  det_status status = det_keras_set_training_data(context, &data, err);
  data = data_of(&validation);
  if (status == DET_OK) status = det_keras_set_validation_data(context, &data, err);
  if (status == DET_OK)
    status = det_keras_set_model(
        context,
        "{\"class_name\": \"Sequential\", \"config\": {\"layers\": ["
        "{\"class_name\": \"Flatten\", \"config\": {\"batch_input_shape\": [null, 2, 2]}},"
        "{\"class_name\": \"Dense\", \"config\": {\"units\": 6, \"activation\": \"tanh\"}},"
        "{\"class_name\": \"Dense\", \"config\": {\"units\": 2, \"activation\": \"softmax\"}}]}}",
        compiled, NULL, err);
  if (status == DET_OK) status = configure(context, err);
  return status == DET_OK ? add_callbacks(context, err) : status;
}

int main(int argc, char **argv) {
  det_error err = DET_ERROR_INIT;
  det_keras_run_options options = DET_KERAS_RUN_OPTIONS_INIT;
  options.arguments = (const char *const *)argv;
  options.argument_count = (size_t)argc;
  options.external_id = "small";
  options.hparams_json = "{\"global_batch_size\": 8, \"learning_rate\": 0.1}";
  options.config_json =
      "{\"searcher\": {\"name\": \"single\", \"metric\": \"val_loss\", \"max_length\": "
      "{\"batches\": "
      "9}}, \"scheduling_unit\": 2, \"min_validation_period\": {\"batches\": 4},"
      " \"min_checkpoint_period\": {\"batches\": 2}, \"records_per_epoch\": 24,"
      " \"reproducibility\": {\"experiment_seed\": 7}}";
  if (det_keras_run_trial(build, NULL, &options, &err) == DET_OK) return EXIT_SUCCESS;
  fprintf(stderr, "%s: %s\n", argv[0], err.message);
  return EXIT_FAILURE;
}
