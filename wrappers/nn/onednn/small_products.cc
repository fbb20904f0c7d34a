#include "wrappers/nn/onednn/small_products.h"

#include <algorithm>

#include "core/base/vectorised.h"
#include "wrappers/nn/arithmetic/row_arithmetic.h"

namespace det::nn {

namespace {

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

}  // namespace

void SmallProducts::forward(const float *x, const float *kernel, const float *bias,
                            float *y) const {
  for (size_t row = 0; row < rows; ++row) {
    if (bias != nullptr) std::copy_n(bias, out, y + row * out);
    else std::fill_n(y + row * out, out, 0.0F);
    add_row_product(x + row * in, kernel, out, y + row * out, in, out);
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

void SmallProducts::of_bias(const float *dy, float *dbias, size_t begin, size_t end) const {
  std::copy(dy + begin, dy + end, dbias + begin);
  for (size_t row = 1; row < rows; ++row) add(dy + row * out + begin, dbias + begin, end - begin);
}

}  // namespace det::nn
