// What is done to the elements of gradients. Sums of 16-bit elements are made in float.
#pragma once

#include <cstddef>
#include <span>

#include "core/tensors/dtype.h"

namespace det::trial {

using tensors::Dtype;

// Whether gradients may have it: f16, bf16, f32 and f64.
constexpr bool is_gradient_dtype(Dtype dtype) {
  return dtype == Dtype::f16 || dtype == Dtype::bf16 || dtype == Dtype::f32 || dtype == Dtype::f64;
}
constexpr size_t bytes_of(Dtype dtype) {
  if (dtype == Dtype::f64) return 8;
  return dtype == Dtype::f32 ? 4 : 2;
}

// into[i] += from[i]. A rounding for each: use sum() where all summands are there.
void add(Dtype dtype, void *into, const void *from, size_t count);

// into[i] = (summands[0][i] + summands[1][i] + ...) / divisor; `into` may be one of the summands.
void sum(Dtype dtype, void *into, std::span<const char *const> summands, size_t count,
         double divisor);

// to[i] = from[i] / divisor, in another dtype where they differ. They may be the same array, but
// not overlap otherwise.
void convert(Dtype from_dtype, const void *from, Dtype to_dtype, void *to, size_t count,
             double divisor);

}  // namespace det::trial
