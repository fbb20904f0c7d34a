#include "wrappers/nn/vectorised_activations.h"

#include <cmath>

#include "core/base/vectorised.h"
#include "wrappers/nn/reference/activation_functions.h"
#include "wrappers/nn/vectorised_exponential.h"

namespace det::nn {

namespace {

DET_VECTORISED
void sigmoids(float *values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const auto [excess, scale] = exponential(-at_least(at_most(values[i], 88), -88));
    values[i] = 1 / (1 + (scale + scale * excess));
  }
}

// By e = exp(2 |x|) - 1 it is e / (e + 2); from 10 on, 1.
DET_VECTORISED
void hyperbolic_tangents(float *values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const auto [excess, scale] = exponential(2 * at_most(std::fabs(values[i]), 10));
    const float e = scale * excess + (scale - 1);
    values[i] = std::copysign(e / (e + 2), values[i]);
  }
}

DET_VECTORISED
void sigmoid_slopes(const float *y, float *slopes, size_t count) {
  for (size_t i = 0; i < count; ++i) slopes[i] = y[i] * (1 - y[i]);
}

DET_VECTORISED
void tangent_slopes(const float *y, float *slopes, size_t count) {
  for (size_t i = 0; i < count; ++i) slopes[i] = 1 - y[i] * y[i];
}

}  // namespace

void activate_all(Activation activation, float *values, size_t count) {
  if (activation == Activation::linear) return;
  if (activation == Activation::sigmoid) return sigmoids(values, count);
  if (activation == Activation::tanh) return hyperbolic_tangents(values, count);
  for (size_t i = 0; i < count; ++i) values[i] = activate(activation, values[i]);
}

void derive_all(Activation activation, const float *x, const float *y, float *slopes,
                size_t count) {
  if (activation == Activation::sigmoid) return sigmoid_slopes(y, slopes, count);
  if (activation == Activation::tanh) return tangent_slopes(y, slopes, count);
  const bool is_of_result = derives_from_result(activation);
  for (size_t i = 0; i < count; ++i)
    slopes[i] = derivative(activation, is_of_result ? 0 : x[i], y[i]);
}

}  // namespace det::nn
