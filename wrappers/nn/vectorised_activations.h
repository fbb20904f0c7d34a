// Activations of many elements at once, as wide as the processor's vectors where the function has
// such a form: sigmoid and tanh, within 4 units in the last place. The same bits on each processor.
#pragma once

#include <cstddef>

#include "wrappers/nn/activation.h"

namespace det::nn {

// Each of `values` becomes activate() of it (reference/activation_functions.h).
void activate_all(Activation activation, float *values, size_t count);

// Into `slopes` the derivatives, of what went in and what came out. `x` is not looked at where the
// activation derives_from_result(). `slopes` is neither of them.
void derive_all(Activation activation, const float *x, const float *y, float *slopes, size_t count);

}  // namespace det::nn
