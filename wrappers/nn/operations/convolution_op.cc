#include "wrappers/nn/operations/convolution_op.h"

#include "core/base/error.h"

namespace det::nn {

ArrayTypes ConvolutionOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 2, 3, "convolution");
  for (const ArrayType &input : inputs) expect_float(input, "an input");
  const Shape &x = inputs[0].shape;
  const Shape &kernel = inputs[1].shape;
  if (kernel.size() != 4 || kernel[0] != window.size[0] || kernel[1] != window.size[1])
    throw Error(Code::invalid, "a kernel of " + text_of(kernel) + " does not fit a window of " +
                                   text_of({window.size[0], window.size[1]}));
  Shape y = window.over(x, kernel[3]);
  if (groups < 1 || x[3] % groups != 0 || kernel[3] % groups != 0 || kernel[2] != x[3] / groups)
    throw Error(Code::invalid, "an input of " + text_of(x) + " does not fit the kernel " +
                                   text_of(kernel) + " in " + std::to_string(groups) + " groups");
  if (inputs.size() == 3) expect_shape(inputs[2], {kernel[3]}, "the bias");
  return {{y, Dtype::f32}};
}

}  // namespace det::nn
