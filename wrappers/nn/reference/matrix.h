// Matrices within arrays, and their product by loops of our own.
#pragma once

#include <cstddef>

namespace det::nn {

struct Matrix {
  float *data;
  size_t rows, columns;
  size_t row_stride, column_stride = 1;

  float *row(size_t index) const { return data + index * row_stride; }
  Matrix transposed() const { return {data, columns, rows, column_stride, row_stride}; }
  Matrix columns_from(size_t begin, size_t count) const {
    return {data + begin * column_stride, rows, count, row_stride, column_stride};
  }
};

inline Matrix matrix(float *data, size_t rows, size_t columns) {
  return {data, rows, columns, columns, 1};
}

// c += scale * a . b
void add_product(const Matrix &a, const Matrix &b, const Matrix &c, float scale = 1);

}  // namespace det::nn
