#include "wrappers/nn/arithmetic/row_arithmetic.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "core/base/vectorised.h"
#include "wrappers/nn/arithmetic/element_functions.h"

namespace det::nn {

DET_VECTORISED
void set_sums(const float *a, const float *b, float *y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] = a[i] + b[i];
}

DET_VECTORISED
void add(const float *a, float *y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] += a[i];
}

DET_VECTORISED
void multiply(const float *a, float *y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] *= a[i];
}

DET_VECTORISED
void multiply(const float *a, const float *b, float *y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] *= a[i] * b[i];
}

DET_VECTORISED
void set_products(const float *a, const float *b, float *y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] = a[i] * b[i];
}

DET_VECTORISED
void add_products(const float *a, const float *b, float *y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] += a[i] * b[i];
}

DET_VECTORISED
void add_products(const float *a, const float *b, const float *c, float *y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] += a[i] * b[i] * c[i];
}

DET_VECTORISED
void set_differences(const float *a, const float *b, float *y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] = a[i] - b[i];
}

DET_VECTORISED
void set_complements(const float *a, float *y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] = 1 - a[i];
}

DET_VECTORISED
void mix(const float *share, const float *a, const float *b, float *y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] = share[i] * a[i] + (1 - share[i]) * b[i];
}

// Four rows of b at once, so that y is loaded and stored less.
DET_VECTORISED
void add_row_product(const float *x, const float *b, size_t stride, float *y, size_t in,
                     size_t out) {
  size_t i = 0;
  for (; i + 4 <= in; i += 4) {
    const float *first = b + i * stride;
    const float *second = first + stride;
    const float *third = second + stride;
    const float *fourth = third + stride;
    for (size_t o = 0; o < out; ++o)
      y[o] +=
          (x[i] * first[o] + x[i + 1] * second[o]) + (x[i + 2] * third[o] + x[i + 3] * fourth[o]);
  }
  for (; i < in; ++i)
    for (size_t o = 0; o < out; ++o) y[o] += x[i] * b[i * stride + o];
}

// Sixteen sums at once, which is as many as fit into the widest vector.
DET_VECTORISED
float inner_product(const float *x, const float *y, size_t length) {
  std::array<float, 16> sums{};
  size_t i = 0;
  for (; i + sums.size() <= length; i += sums.size())
    for (size_t k = 0; k < sums.size(); ++k) sums[k] += x[i + k] * y[i + k];
  for (size_t width = sums.size() / 2; width > 0; width /= 2)
    for (size_t k = 0; k < width; ++k) sums[k] += sums[k + width];
  for (; i < length; ++i) sums[0] += x[i] * y[i];
  return sums[0];
}

// The exponential function without branches, for loops over many elements (vectorised.h).

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

using Block = std::array<float, 16>;  // as many as fit into the widest vector

inline float power_of(float x) {
  const auto [excess, scale] = exponential(at_least(at_most(x, 88), -88));
  return scale + scale * excess;
}

// The last elements of a row, filled up with what adds nothing.
inline Block last_block(const float *x, size_t count) {
  Block block;
  for (size_t k = 0; k < block.size(); ++k)
    block[k] = k < count ? x[k] : -std::numeric_limits<float>::infinity();
  return block;
}

inline float sum_of(Block sums) {
  for (size_t width = sums.size() / 2; width > 0; width /= 2)
    for (size_t k = 0; k < width; ++k) sums[k] += sums[k + width];
  return sums[0];
}

DET_VECTORISED
float sum_of_powers(const float *x, float shift, size_t count) {
  Block sums{};
  size_t i = 0;
  for (; i + sums.size() <= count; i += sums.size())
    for (size_t k = 0; k < sums.size(); ++k) sums[k] += power_of(x[i + k] - shift);
  if (i < count) {
    const Block rest = last_block(x + i, count - i);
    for (size_t k = 0; k < sums.size(); ++k) sums[k] += power_of(rest[k] - shift);
  }
  return sum_of(sums);
}

}  // namespace

DET_VECTORISED
float largest_of(const float *x, size_t count) {
  Block largest = last_block(x, std::min(count, Block().size()));
  size_t i = largest.size();
  for (; i + largest.size() <= count; i += largest.size())
    for (size_t k = 0; k < largest.size(); ++k)
      largest[k] = x[i + k] > largest[k] ? x[i + k] : largest[k];
  for (; i < count; ++i) largest[0] = std::max(largest[0], x[i]);
  for (size_t width = largest.size() / 2; width > 0; width /= 2)
    for (size_t k = 0; k < width; ++k) largest[k] = std::max(largest[k], largest[k + width]);
  return largest[0];
}

float log_sum_exp_of(const float *x, size_t count) {
  const float largest = largest_of(x, count);
  return largest + std::log(sum_of_powers(x, largest, count));
}

DET_VECTORISED
void set_exponentials(const float *x, float shift, float by, float *y, size_t count) {
  size_t i = 0;
  for (; i + Block().size() <= count; i += Block().size())
    for (size_t k = 0; k < Block().size(); ++k) y[i + k] = by * power_of(x[i + k] - shift);
  if (i == count) return;
  Block rest = last_block(x + i, count - i);
  for (float &element : rest) element = by * power_of(element - shift);
  std::copy_n(rest.data(), count - i, y + i);
}

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
