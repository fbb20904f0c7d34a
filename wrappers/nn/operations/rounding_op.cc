#include "wrappers/nn/operations/rounding_op.h"

#include "core/base/error.h"

namespace det::nn {

ArrayTypes RoundingOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 1, 1, "rounding");
  expect_float(inputs[0], "the input");
  if (to != Dtype::bf16 && to != Dtype::f16)
    throw Error(Code::internal, std::string("rounding to ") + tensors::name_of(to));
  return inputs;
}

}  // namespace det::nn
