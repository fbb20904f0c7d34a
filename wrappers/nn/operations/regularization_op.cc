#include "wrappers/nn/operations/regularization_op.h"

namespace det::nn {

ArrayTypes RegularizationOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 1, 1, "regularization");
  expect_float(inputs[0], "what is regularized");
  return {{{}, Dtype::f32}};
}

}  // namespace det::nn
