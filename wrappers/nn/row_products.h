// Products of a row with a matrix, as wide as the processor's vectors.
#pragma once

#include <cstddef>

namespace det::nn {

// y += x . b of the `in` rows of b, each of `out` numbers and `stride` from the one before.
void add_row_product(const float *x, const float *b, size_t stride, float *y, size_t in,
                     size_t out);

float inner_product(const float *x, const float *y, size_t length);

}  // namespace det::nn
