// Numbers of fewer bits: what layers of mixed precision are computed with.
#pragma once

#include "wrappers/nn/operations/operation_types.h"

namespace det::nn {

// y = x as this type has it, rounded to the nearest, ties to even, and kept in F32; of any shape.
// What F16 cannot hold becomes infinite. The gradient is rounded likewise: that of a number is of
// the number's type. A back end that has the type may join this to the operation before or after.
struct RoundingOp {
  Dtype to = Dtype::bf16;  // or Dtype::f16

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

}  // namespace det::nn
