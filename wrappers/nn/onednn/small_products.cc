#include "wrappers/nn/onednn/small_products.h"

#include <algorithm>
#include <array>

#include "wrappers/nn/vectorised.h"

namespace det::nn {

namespace {

// y += x . kernel of one row; four rows of the kernel at once, so that y is loaded and stored less.
DET_VECTORISED
void add_row_product(const float *x, const float *kernel, float *y, size_t in, size_t out) {
  size_t i = 0;
  for (; i + 4 <= in; i += 4) {
    const float *first = kernel + i * out;
    const float *second = first + out;
    const float *third = second + out;
    const float *fourth = third + out;
    for (size_t o = 0; o < out; ++o)
      y[o] +=
          (x[i] * first[o] + x[i + 1] * second[o]) + (x[i + 2] * third[o] + x[i + 3] * fourth[o]);
  }
  for (; i < in; ++i)
    for (size_t o = 0; o < out; ++o) y[o] += x[i] * kernel[i * out + o];
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

DET_VECTORISED
void outer_product(const float *x, const float *y, float *product, size_t in, size_t out) {
  for (size_t i = 0; i < in; ++i)
    for (size_t o = 0; o < out; ++o) product[i * out + o] = x[i] * y[o];
}

DET_VECTORISED
void add_outer_product(const float *x, const float *y, float *product, size_t in, size_t out) {
  for (size_t i = 0; i < in; ++i)
    for (size_t o = 0; o < out; ++o) product[i * out + o] += x[i] * y[o];
}

DET_VECTORISED
void add_row(const float *from, float *to, size_t length) {
  for (size_t i = 0; i < length; ++i) to[i] += from[i];
}

}  // namespace

void SmallProducts::forward(const float *x, const float *kernel, const float *bias,
                            float *y) const {
  for (size_t row = 0; row < rows; ++row) {
    if (bias != nullptr) std::copy_n(bias, out, y + row * out);
    else std::fill_n(y + row * out, out, 0.0F);
    add_row_product(x + row * in, kernel, y + row * out, in, out);
  }
}

void SmallProducts::of_input(const float *dy, const float *kernel, float *dx) const {
  for (size_t row = 0; row < rows; ++row)
    for (size_t i = 0; i < in; ++i)
      dx[row * in + i] = inner_product(dy + row * out, kernel + i * out, out);
}

void SmallProducts::of_kernel(const float *x, const float *dy, float *dkernel) const {
  outer_product(x, dy, dkernel, in, out);
  for (size_t row = 1; row < rows; ++row)
    add_outer_product(x + row * in, dy + row * out, dkernel, in, out);
}

void SmallProducts::of_bias(const float *dy, float *dbias) const {
  std::copy_n(dy, out, dbias);
  for (size_t row = 1; row < rows; ++row) add_row(dy + row * out, dbias, out);
}

}  // namespace det::nn
