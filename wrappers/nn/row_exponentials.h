// Exponential functions of rows of numbers, as wide as the processor's vectors: within 2 units in
// the last place, and 0 where a float would have less than all its digits. The same bits on each
// processor.
#pragma once

#include <cstddef>

namespace det::nn {

// Of `count` elements, one at least. Where there is a NaN, anything.
float largest_of(const float *x, size_t count);

// The logarithm of the sum of exp(x).
float log_sum_exp_of(const float *x, size_t count);

// y = by exp(x - shift), for x - shift of at most 88.
void set_exponentials(const float *x, float shift, float by, float *y, size_t count);

}  // namespace det::nn
