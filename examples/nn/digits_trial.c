/* Trains the network of digits_cnn.cc as a trial in C, through det/keras.h.
 *
 *     cc -std=c11 digits_trial.c $(pkg-config --cflags --libs detnn) -o digits_trial
 *     ./digits_trial --config const.yaml --test
 *     det run const.yaml -- ./digits_trial */
#include <det/keras.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef DIGITS_CSV
#define DIGITS_CSV "../data/digits.csv"
#endif

enum { MOST_IMAGES = 2000, PIXELS = 64 };

struct digits {
  float pixels[MOST_IMAGES * PIXELS];
  int32_t labels[MOST_IMAGES];
  int64_t count;
};

/* Every fifth image of the file is for testing, all others are for training. */
static det_status read_digits(struct digits *train, struct digits *test, det_error *err) {
  FILE *file = fopen(DIGITS_CSV, "r");
  if (!file) return det_keras_fail(err, DET_E_IO, "reading " DIGITS_CSV ": it cannot be opened");
  int value;
  for (int number = 0; fscanf(file, "%d", &value) == 1; ++number) {
    struct digits *set = number % 5 == 0 ? test : train;
    if (set->count == MOST_IMAGES) break;
    for (int i = 0; i < PIXELS; ++i) {
      set->pixels[set->count * PIXELS + i] = (float)value / 16;
      if (fscanf(file, ",%d", &value) != 1) break;
    }
    set->labels[set->count++] = value;
  }
  fclose(file);
  return DET_OK;
}

typedef det_status give(det_keras_context *, const det_keras_data *, det_error *);

static det_status give_digits(give *give, det_keras_context *context, struct digits *digits,
                              det_error *err) {
  const int64_t shape[] = {digits->count, 8, 8, 1};
  det_tensor images = DET_TENSOR_INIT, labels = DET_TENSOR_INIT;
  images.data = digits->pixels;
  images.dtype = DET_DTYPE_F32;
  labels.data = digits->labels;
  labels.dtype = DET_DTYPE_I32;
  images.shape = labels.shape = shape;
  images.dimensions = 4;
  labels.dimensions = 1;
  det_nn_batch arrays = DET_NN_BATCH_INIT;
  arrays.inputs = &images;
  arrays.truths = &labels;
  arrays.input_count = arrays.result_count = 1;
  det_keras_data data = DET_KERAS_DATA_INIT;
  data.arrays = &arrays;
  return give(context, &data, err);
}

static det_status build(det_keras_context *context, void *user_data, det_error *err) {
  struct digits *sets = user_data;
  det_status status = read_digits(&sets[0], &sets[1], err);
  if (status == DET_OK) status = give_digits(det_keras_set_training_data, context, &sets[0], err);
  if (status == DET_OK) status = give_digits(det_keras_set_validation_data, context, &sets[1], err);
  if (status != DET_OK) return status;

  const det_info *info = det_core_info(det_keras_core(context));
  const int filters = (int)det_info_hparam_int(info, "filters", 16);
  char model[2048], compiled[512];
  snprintf(model, sizeof model,
           "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"digits\", \"layers\": ["
           "{\"class_name\": \"Conv2D\", \"config\": {\"filters\": %d, \"kernel_size\": 3,"
           " \"padding\": \"same\", \"activation\": \"relu\","
           " \"batch_input_shape\": [null, 8, 8, 1]}},"
           "{\"class_name\": \"MaxPooling2D\", \"config\": {}},"
           "{\"class_name\": \"BatchNormalization\", \"config\": {}},"
           "{\"class_name\": \"Conv2D\", \"config\": {\"filters\": %d, \"kernel_size\": 3,"
           " \"padding\": \"same\", \"activation\": \"relu\"}},"
           "{\"class_name\": \"MaxPooling2D\", \"config\": {}},"
           "{\"class_name\": \"Flatten\", \"config\": {}},"
           "{\"class_name\": \"Dropout\", \"config\": {\"rate\": %g}},"
           "{\"class_name\": \"Dense\", \"config\": {\"units\": 64, \"activation\": \"relu\"}},"
           "{\"class_name\": \"Dense\", \"config\": {\"units\": 10, \"activation\": \"softmax\"}}"
           "]}}",
           filters, 2 * filters, det_info_hparam_double(info, "dropout", 0.25));
  snprintf(compiled, sizeof compiled,
           "{\"optimizer\": {\"class_name\": \"Adam\", \"config\": {\"learning_rate\": %g}},"
           " \"loss\": \"sparse_categorical_crossentropy\", \"metrics\": [\"accuracy\"]}",
           det_info_hparam_double(info, "learning_rate", 0.001));
  return det_keras_set_model(context, model, compiled, NULL, err);
}

int main(int argc, char **argv) {
  static struct digits sets[2];
  det_error err = DET_ERROR_INIT;
  det_keras_run_options options = DET_KERAS_RUN_OPTIONS_INIT;
  options.arguments = (const char *const *)argv;
  options.argument_count = (size_t)argc;
  if (det_keras_run_trial(build, sets, &options, &err) == DET_OK) return EXIT_SUCCESS;
  fprintf(stderr, "%s: %s\n", argv[0], err.message);
  return EXIT_FAILURE;
}
