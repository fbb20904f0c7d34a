#include "wrappers/nn/operations/dense_op.h"

#include "core/base/error.h"

namespace det::nn {

ArrayTypes DenseOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 2, 3, "dense");
  for (const ArrayType &input : inputs) expect_float(input, "an input");
  const Shape &x = inputs[0].shape;
  const Shape &kernel = inputs[1].shape;
  if (x.empty() || kernel.size() != 2 || x.back() != kernel[0])
    throw Error(Code::invalid, "an input of " + text_of(x) + " has not the " +
                                   std::to_string(kernel.empty() ? 0 : kernel[0]) +
                                   " features of the kernel " + text_of(kernel));
  if (inputs.size() == 3) expect_shape(inputs[2], {kernel[1]}, "the bias");
  Shape y = x;
  y.back() = kernel[1];
  return {{y, Dtype::f32}};
}

}  // namespace det::nn
