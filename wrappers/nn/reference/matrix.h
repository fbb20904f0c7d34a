// Matrices within arrays, and their product by plain loops.
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
inline void add_product(const Matrix &a, const Matrix &b, const Matrix &c, float scale = 1) {
  for (size_t row = 0; row < a.rows; ++row) {
    const float *a_row = a.row(row);
    float *c_row = c.row(row);
    if (b.column_stride == 1 && c.column_stride == 1) {
      for (size_t i = 0; i < a.columns; ++i) {
        const float by = scale * a_row[i * a.column_stride];
        const float *b_row = b.row(i);
        for (size_t column = 0; column < b.columns; ++column) c_row[column] += by * b_row[column];
      }
      continue;
    }
    for (size_t column = 0; column < b.columns; ++column) {
      const float *b_column = b.data + column * b.column_stride;
      float sum = 0;
      for (size_t i = 0; i < a.columns; ++i)
        sum += a_row[i * a.column_stride] * b_column[i * b.row_stride];
      c_row[column * c.column_stride] += scale * sum;
    }
  }
}

}  // namespace det::nn
