// How far a prediction is from what is true, row by row: what losses make smaller, and metrics
// tell.
#pragma once

#include <cstddef>

namespace det::nn {

enum class LossKind {
  // The mean over a row of a function of each element.
  squared_error,
  absolute_error,
  absolute_percentage_error,
  squared_logarithmic_error,
  huber,
  log_cosh,
  hinge,
  squared_hinge,
  poisson,
  binary_crossentropy,
  binary_focal_crossentropy,
  // A function of the whole row.
  categorical_crossentropy,
  categorical_hinge,
  kl_divergence,
  cosine_similarity,
};

// With the options of Keras' class of that name; each kind looks at its own.
struct LossFunction {
  LossKind kind = LossKind::squared_error;
  bool from_logits = false;
  float smoothing = 0;  // of labels
  float delta = 1;      // of huber
  float gamma = 2;      // of the focal one, as the next two
  bool is_balanced = false;
  float alpha = 0.25F;
  bool has_binary_truth = false;  // the labels of a hinge are 0 and 1, to be read as -1 and 1

  // Of a row of `size` elements.
  double value(const float *prediction, const float *truth, size_t size) const;
  // The gradient of factor * value() by the prediction.
  void differentiate(const float *prediction, const float *truth, size_t size, float factor,
                     float *gradient) const;
};

// Of a row of logits or probabilities and the number of its class, which must be one. What a
// softmax makes of the logarithms of probabilities is as good as the probabilities.
double sparse_crossentropy(const float *prediction, size_t size, size_t label, bool from_logits);

// The logarithm of the sum of the exponentials of `size` numbers, one or more.
float log_sum_exp(const float *x, size_t size);

// Whether all of them are 0 or 1.
bool is_binary(const float *truth, size_t size);

}  // namespace det::nn
