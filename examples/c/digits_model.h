/* The model and the data of the digits examples. This file does not use detcore. */
#ifndef DIGITS_MODEL_H
#define DIGITS_MODEL_H

#include <stddef.h>
#include <stdint.h>

enum { DIGIT_PIXELS = 64, DIGIT_CLASSES = 10, MODEL_MAX_HIDDEN = 4096 };

struct image {
  float pixels[DIGIT_PIXELS]; /* 0 (white) to 1 (black) */
  int label;
};

/* The default file of images, relative to this folder. */
#ifndef DIGITS_CSV
#define DIGITS_CSV "../data/digits.csv"
#endif

/* Every fifth image of the file is for testing, all others are for training. */
struct dataset {
  struct image *train, *test;
  size_t train_count, test_count;
};

/* Returns 0, or -1 after printing the error. */
int dataset_read(struct dataset *data, const char *csv_path);
void dataset_free(struct dataset *data);

/* A multilayer perceptron: 64 inputs, one hidden layer of rectified units, softmax over 10 classes.
 * One array holds all parameters, so one write saves them. */
struct model {
  size_t hidden;   /* units, 1 to MODEL_MAX_HIDDEN */
  size_t count;    /* of parameters */
  float *weights;  /* [hidden][64], [hidden], [10][hidden], [10] */
  float *velocity; /* the momentum of each weight */
  float *gradient;
};

/* Sets random weights, computed from `seed`. Returns 0, or -1 if memory is short. */
int model_init(struct model *model, size_t hidden, uint64_t seed);
void model_free(struct model *model);

/* Stochastic gradient descent. */
struct optimizer {
  double learning_rate, momentum, weight_decay;
};

/* Sets the gradient to the sum over `count` images, chosen by index. Returns the sum of their
 * losses. */
double model_gradient(struct model *model, const struct image *images, const uint32_t *indices,
                      size_t count);

/* Makes one step along the gradient, which is a sum over `count` images. */
void model_step(struct model *model, const struct optimizer *optimizer, size_t count);

/* Computes the gradient and makes the step. Returns the sum of the losses before the step. */
double model_train(struct model *model, const struct optimizer *optimizer,
                   const struct image *images, const uint32_t *indices, size_t count);

struct score {
  double loss, accuracy;
};
struct score model_evaluate(const struct model *model, const struct image *images, size_t count);

/* Fills `indices` with a permutation of 0 .. count - 1, computed from `seed`. */
void shuffle(uint32_t *indices, size_t count, uint64_t seed);

#endif
