#include "wrappers/nn/vectorised_activations.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "wrappers/nn/reference/activation_functions.h"
#include "wrappers/nn/vectorised.h"

namespace det::nn {

namespace {

// exp(x) is (1 + excess) * scale, where scale is a power of two.
struct Exponential {
  float excess, scale;
};

// For x of at most 88 either way. x = n ln 2 + r, where n is whole and r at most half of ln 2; the
// excess is the Taylor series of exp(r) - 1, whose next term is below half a unit.
inline Exponential exponential(float x) {
  constexpr float rounder = 0x1.8p23F;         // added to a float, leaves no room for its fraction
  constexpr float high_of_ln2 = 0x1.62e4p-1F;  // short, so that n times it is exact
  constexpr float low_of_ln2 = 0x1.7f7d1cp-20F;
  const float shifted = x * std::numbers::log2e_v<float> + rounder;
  const float n = shifted - rounder;
  const float r = (x - n * high_of_ln2) - n * low_of_ln2;
  float series = 1.0F / 5040;
  series = series * r + 1.0F / 720;
  series = series * r + 1.0F / 120;
  series = series * r + 1.0F / 24;
  series = series * r + 1.0F / 6;
  series = series * r + 0.5F;
  const uint32_t exponent = std::bit_cast<uint32_t>(shifted) + 127;
  return {series * r * r + r, std::bit_cast<float>(exponent << 23)};
}

// NaN stays what it is.
inline float at_most(float x, float limit) { return x > limit ? limit : x; }
inline float at_least(float x, float limit) { return x < limit ? limit : x; }

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
