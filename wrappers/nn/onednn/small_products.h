// Products of a few rows with a matrix, for which preparing what oneDNN prepares at each call takes
// longer than computing.
#pragma once

#include <cstddef>

namespace det::nn {

// x (rows, in), kernel (in, out), y and dy (rows, out). All write over what was there.
struct SmallProducts {
  size_t rows, in, out;

  // `bias` may be null.
  void forward(const float *x, const float *kernel, const float *bias, float *y) const;
  void of_input(const float *dy, const float *kernel, float *dx) const;
  void of_kernel(const float *x, const float *dy, float *dkernel) const;
  void of_bias(const float *dy, float *dbias) const { of_bias(dy, dbias, 0, out); }
  // Of the columns [begin, end) alone.
  void of_bias(const float *dy, float *dbias, size_t begin, size_t end) const;
};

}  // namespace det::nn
