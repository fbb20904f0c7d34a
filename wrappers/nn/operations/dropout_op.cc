#include "wrappers/nn/operations/dropout_op.h"

#include "core/base/error.h"

namespace det::nn {

ArrayTypes DropoutOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 1, 1, "dropout");
  expect_float(inputs[0], "the input");
  if (inputs[0].shape.size() < 2 && is_spatial)
    throw Error(Code::invalid,
                "an input of " + text_of(inputs[0].shape) + " has no channels to leave out");
  return inputs;
}

}  // namespace det::nn
