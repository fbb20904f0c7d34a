#include "wrappers/nn/row_products.h"

#include <array>

#include "core/base/vectorised.h"

namespace det::nn {

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

}  // namespace det::nn
