// What a regularizer adds to the loss.
#pragma once

#include "wrappers/nn/operations/operation_types.h"
#include "wrappers/nn/regularizers/regularizer.h"

namespace det::nn {

// Of all elements of a weight, or of what a layer gives: a single number. At 0 the gradient of |w|
// is 0.
struct RegularizationOp {
  Regularizer regularizer;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

}  // namespace det::nn
