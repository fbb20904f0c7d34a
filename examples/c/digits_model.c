#include "digits_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_bits(uint64_t *state) { /* SplitMix64 */
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static double random_uniform(uint64_t *state) { /* in [-1, 1) */
  return (double)(random_bits(state) >> 11) * 0x1p-52 - 1;
}

void shuffle(uint32_t *indices, size_t count, uint64_t seed) {
  uint64_t state = seed;
  for (size_t i = 0; i < count; i++) {
    size_t j = random_bits(&state) % (i + 1);
    indices[i] = indices[j];
    indices[j] = (uint32_t)i;
  }
}

/* Returns 1 for an image, 0 at the end of the file, -1 for an error. */
static int read_image(FILE *file, struct image *image) {
  unsigned value;
  for (int i = 0; i <= DIGIT_PIXELS; i++) {
    int got = fscanf(file, i < DIGIT_PIXELS ? "%u," : "%u", &value);
    if (got == EOF && i == 0) return 0;
    if (got != 1 || value > (i < DIGIT_PIXELS ? 16 : 9)) return -1;
    if (i < DIGIT_PIXELS) image->pixels[i] = (float)value / 16;
  }
  image->label = (int)value;
  return 1;
}

int dataset_read(struct dataset *data, const char *csv_path) {
  enum { CAPACITY = 2000 };
  *data = (struct dataset){calloc(CAPACITY, sizeof(struct image)),
                           calloc(CAPACITY, sizeof(struct image)), 0, 0};
  FILE *file = fopen(csv_path, "r");
  int got = file && data->train && data->test ? 1 : -1;
  for (size_t i = 0; got == 1 && i < CAPACITY; i++) {
    if (i % 5 == 4) {
      got = read_image(file, &data->test[data->test_count]);
      data->test_count += got == 1;
    } else {
      got = read_image(file, &data->train[data->train_count]);
      data->train_count += got == 1;
    }
  }
  if (file) fclose(file);
  if (got == 0 && data->test_count > 0) return 0;
  fprintf(stderr, "cannot read images from %s: expected lines of 64 pixels (0-16) and a label\n",
          csv_path);
  dataset_free(data);
  return -1;
}

void dataset_free(struct dataset *data) {
  free(data->train);
  free(data->test);
  *data = (struct dataset){NULL, NULL, 0, 0};
}

/* The parts of an array that has the layout of the weights. */
struct layers {
  float *input, *input_bias, *output, *output_bias;
};

static struct layers layers_of(const struct model *model, float *array) {
  struct layers at = {.input = array};
  at.input_bias = at.input + model->hidden * DIGIT_PIXELS;
  at.output = at.input_bias + model->hidden;
  at.output_bias = at.output + DIGIT_CLASSES * model->hidden;
  return at;
}

int model_init(struct model *model, size_t hidden, uint64_t seed) {
  model->hidden = hidden;
  model->count = hidden * (DIGIT_PIXELS + 1) + DIGIT_CLASSES * (hidden + 1);
  model->weights = calloc(model->count, sizeof(float));
  model->velocity = calloc(model->count, sizeof(float));
  model->gradient = calloc(model->count, sizeof(float));
  if (!model->weights || !model->velocity || !model->gradient) return -1;

  struct layers w = layers_of(model, model->weights);
  double input_scale = sqrt(6.0 / DIGIT_PIXELS), output_scale = sqrt(6.0 / (double)hidden);
  for (float *at = w.input; at < w.input_bias; at++)
    *at = (float)(input_scale * random_uniform(&seed));
  for (float *at = w.output; at < w.output_bias; at++)
    *at = (float)(output_scale * random_uniform(&seed));
  return 0;
}

void model_free(struct model *model) {
  free(model->weights);
  free(model->velocity);
  free(model->gradient);
}

/* Returns the loss. `hidden` and `probability` receive the activations. */
static double forward(const struct model *model, const struct image *image, float *hidden,
                      float *probability) {
  struct layers w = layers_of(model, model->weights);
  for (size_t h = 0; h < model->hidden; h++) {
    float sum = w.input_bias[h];
    for (size_t i = 0; i < DIGIT_PIXELS; i++)
      sum += w.input[h * DIGIT_PIXELS + i] * image->pixels[i];
    hidden[h] = sum > 0 ? sum : 0;
  }
  float largest = -INFINITY, total = 0;
  for (size_t c = 0; c < DIGIT_CLASSES; c++) {
    float sum = w.output_bias[c];
    for (size_t h = 0; h < model->hidden; h++) sum += w.output[c * model->hidden + h] * hidden[h];
    probability[c] = sum;
    largest = fmaxf(largest, sum);
  }
  for (size_t c = 0; c < DIGIT_CLASSES; c++)
    total += probability[c] = expf(probability[c] - largest);
  for (size_t c = 0; c < DIGIT_CLASSES; c++) probability[c] /= total;
  return -log(fmax(probability[image->label], 1e-30));
}

/* Adds the gradient of one image's loss. It needs the activations of forward(). */
static void backward(const struct model *model, const struct image *image, const float *hidden,
                     const float *probability) {
  struct layers w = layers_of(model, model->weights), g = layers_of(model, model->gradient);
  float error[DIGIT_CLASSES];
  for (int c = 0; c < DIGIT_CLASSES; c++) {
    error[c] = probability[c] - (float)(c == image->label);
    g.output_bias[c] += error[c];
  }
  for (size_t h = 0; h < model->hidden; h++) {
    if (hidden[h] <= 0) continue;
    float hidden_error = 0;
    for (size_t c = 0; c < DIGIT_CLASSES; c++) {
      g.output[c * model->hidden + h] += error[c] * hidden[h];
      hidden_error += error[c] * w.output[c * model->hidden + h];
    }
    g.input_bias[h] += hidden_error;
    for (size_t i = 0; i < DIGIT_PIXELS; i++)
      g.input[h * DIGIT_PIXELS + i] += hidden_error * image->pixels[i];
  }
}

double model_gradient(struct model *model, const struct image *images, const uint32_t *indices,
                      size_t count) {
  float hidden[MODEL_MAX_HIDDEN], probability[DIGIT_CLASSES];
  double loss = 0;
  memset(model->gradient, 0, model->count * sizeof(float));
  for (size_t i = 0; i < count; i++) {
    loss += forward(model, &images[indices[i]], hidden, probability);
    backward(model, &images[indices[i]], hidden, probability);
  }
  return loss;
}

void model_step(struct model *model, const struct optimizer *optimizer, size_t count) {
  for (size_t i = 0; i < model->count; i++) {
    double gradient =
        model->gradient[i] / (double)count + optimizer->weight_decay * model->weights[i];
    double velocity =
        optimizer->momentum * model->velocity[i] - optimizer->learning_rate * gradient;
    model->velocity[i] = (float)velocity;
    model->weights[i] += (float)velocity;
  }
}

double model_train(struct model *model, const struct optimizer *optimizer,
                   const struct image *images, const uint32_t *indices, size_t count) {
  double loss = model_gradient(model, images, indices, count);
  model_step(model, optimizer, count);
  return loss;
}

struct score model_evaluate(const struct model *model, const struct image *images, size_t count) {
  float hidden[MODEL_MAX_HIDDEN], probability[DIGIT_CLASSES];
  struct score score = {0, 0};
  for (size_t i = 0; i < count; i++) {
    score.loss += forward(model, &images[i], hidden, probability);
    int best = 0;
    for (int c = 1; c < DIGIT_CLASSES; c++)
      if (probability[c] > probability[best]) best = c;
    score.accuracy += best == images[i].label;
  }
  score.loss /= (double)count;
  score.accuracy /= (double)count;
  return score;
}
