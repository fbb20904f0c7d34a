// The product of the last axis with a matrix.
#pragma once

#include "wrappers/nn/activation.h"
#include "wrappers/nn/operations/operation_types.h"

namespace det::nn {

// y = activation(x . kernel + bias): x (..., in), kernel (in, out) and, where there is one,
// bias (out). The activation is one whose derivative follows from its result.
struct DenseOp {
  Activation activation = Activation::linear;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

}  // namespace det::nn
