// Rows of numbers combined element by element, as wide as the processor's vectors.
#pragma once

#include <cstddef>

namespace det::nn {

// The rows have `count` elements each, and do not overlap; but for what is said.
void set_sums(const float *a, const float *b, float *y, size_t count);      // y = a + b, y may be a
void add(const float *a, float *y, size_t count);                           // y += a
void multiply(const float *a, float *y, size_t count);                      // y *= a
void multiply(const float *a, const float *b, float *y, size_t count);      // y *= a b
void set_products(const float *a, const float *b, float *y, size_t count);  // y = a b
void add_products(const float *a, const float *b, float *y, size_t count);  // y += a b
void set_differences(const float *a, const float *b, float *y, size_t count);  // y = a - b
void set_complements(const float *a, float *y, size_t count);                  // y = 1 - a
// y = share a + (1 - share) b
void mix(const float *share, const float *a, const float *b, float *y, size_t count);
// y += a b c
void add_products(const float *a, const float *b, const float *c, float *y, size_t count);

}  // namespace det::nn
