#include "wrappers/nn/reference/matrix.h"

#include <algorithm>
#include <array>

#include "wrappers/nn/arithmetic/row_arithmetic.h"

namespace det::nn {

namespace {

// c += scale * a . b, where b and c lie by rows.
void add_row_of_product(const float *a, size_t a_stride, const Matrix &b, float *c, float scale) {
  std::array<float, 64> scaled;
  for (size_t begin = 0; begin < b.rows; begin += scaled.size()) {
    const size_t count = std::min(b.rows - begin, scaled.size());
    for (size_t i = 0; i < count; ++i) scaled[i] = scale * a[(begin + i) * a_stride];
    add_row_product(scaled.data(), b.row(begin), b.row_stride, c, count, b.columns);
  }
}

float strided_product(const float *a, size_t a_stride, const float *b, size_t b_stride,
                      size_t length) {
  if (a_stride == 1 && b_stride == 1) return inner_product(a, b, length);
  float sum = 0;
  for (size_t i = 0; i < length; ++i) sum += a[i * a_stride] * b[i * b_stride];
  return sum;
}

}  // namespace

void add_product(const Matrix &a, const Matrix &b, const Matrix &c, float scale) {
  for (size_t row = 0; row < a.rows; ++row) {
    if (b.column_stride == 1 && c.column_stride == 1) {
      add_row_of_product(a.row(row), a.column_stride, b, c.row(row), scale);
      continue;
    }
    for (size_t column = 0; column < b.columns; ++column)
      c.row(row)[column * c.column_stride] +=
          scale * strided_product(a.row(row), a.column_stride, b.data + column * b.column_stride,
                                  b.row_stride, a.columns);
  }
}

}  // namespace det::nn
