// What is computed of each element by itself, and along the last axis.
#pragma once

#include "wrappers/nn/activation.h"
#include "wrappers/nn/operations/operation_types.h"

namespace det::nn {

// y = f(x), of any shape.
struct ActivationOp {
  Activation activation = Activation::linear;
  float alpha = 1;  // of elu, and of leaky_relu

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

enum class Arithmetic { add, subtract, multiply, maximum, minimum };

// z = x op y, of one shape, or y is a suffix of x's and repeated over the rest.
struct ArithmeticOp {
  Arithmetic arithmetic = Arithmetic::add;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

}  // namespace det::nn
