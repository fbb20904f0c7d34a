// What is computed of each element by itself, and along the last axis.
#pragma once

#include <limits>

#include "wrappers/nn/activation.h"
#include "wrappers/nn/host_device.h"
#include "wrappers/nn/operations/operation_types.h"

namespace det::nn {

// y = f(x), of any shape.
struct ActivationOp {
  Activation activation = Activation::linear;
  float alpha = 1;  // of elu, and of leaky_relu

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// y = min(x, largest) above the threshold, and slope * (x - threshold) up to it; of any shape. What
// is no number stays none.
struct ReluOp {
  float slope = 0;
  float threshold = 0;  // 0 or more
  float largest = std::numeric_limits<float>::infinity();

  DET_HOST_DEVICE float activate(float x) const {
    if (x <= threshold) return slope == 0 ? 0 : slope * (x - threshold);
    return x > largest ? largest : x;
  }
  // At the threshold neither side's.
  DET_HOST_DEVICE float derivative(float x) const {
    return x < threshold ? slope : x > threshold && x <= largest ? 1 : 0;
  }
  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// y = factor * x + offset, of any shape.
struct ScaleOp {
  float factor = 1;
  float offset = 0;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// Over the last axis, with the largest taken off first; or the logarithm of it.
struct SoftmaxOp {
  bool is_logarithm = false;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// The same elements in another shape; no work where both may share their memory.
struct ReshapeOp {
  Shape shape;  // known

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

enum class Function {
  absolute,
  clip,       // to a, and then to b
  differs,    // 1 where x is another number than a, else 0
  logarithm,  // the natural one
  power,      // x to the power of a
  real,       // a whole number as a real one
  whole,      // the whole part of a real number, as I32
};

// y = f(x), of any shape; x may be of whole numbers.
struct FunctionOp {
  Function function = Function::real;
  float a = 0;
  float b = 0;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

enum class Arithmetic { add, subtract, multiply, maximum, minimum };

// z = x op y, of one shape, or y is a suffix of x's and repeated over the rest.
struct ArithmeticOp {
  Arithmetic arithmetic = Arithmetic::add;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

}  // namespace det::nn
