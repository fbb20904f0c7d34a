// Rows of numbers, as wide as the processor's vectors. The same bits on each processor.
#pragma once

#include <cstddef>

#include "wrappers/nn/arithmetic/activation.h"

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

// Products of a row with a matrix, as wide as the processor's vectors.

// y += x . b of the `in` rows of b, each of `out` numbers and `stride` from the one before.
void add_row_product(const float *x, const float *b, size_t stride, float *y, size_t in,
                     size_t out);

float inner_product(const float *x, const float *y, size_t length);

// Exponential functions of rows of numbers, as wide as the processor's vectors: within 2 units in
// the last place, and 0 where a float would have less than all its digits. The same bits on each
// processor.

// Of `count` elements, one at least. Where there is a NaN, anything.
float largest_of(const float *x, size_t count);

// The logarithm of the sum of exp(x).
float log_sum_exp_of(const float *x, size_t count);

// y = by exp(x - shift), for x - shift of at most 88.
void set_exponentials(const float *x, float shift, float by, float *y, size_t count);

// Activations of many elements at once, as wide as the processor's vectors where the function has
// such a form: sigmoid and tanh, within 4 units in the last place. The same bits on each processor.

// Each of `values` becomes activate() of it (reference/activation_functions.h).
void activate_all(Activation activation, float *values, size_t count);

// Into `slopes` the derivatives, of what went in and what came out. `x` is not looked at where the
// activation derives_from_result(). `slopes` is neither of them.
void derive_all(Activation activation, const float *x, const float *y, float *slopes, size_t count);

}  // namespace det::nn
