#include "wrappers/nn/operations/pooling_op.h"

#include "core/base/error.h"

namespace det::nn {

ArrayTypes PoolingOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 1, 1, "pooling");
  expect_float(inputs[0], "the input");
  const Shape &x = inputs[0].shape;
  if (window.dilation != Window::Sizes{1, 1})
    throw Error(Code::internal, "adding the operation pooling: its window is dilated");
  return {{window.over(x, x.empty() ? 0 : x.back()), Dtype::f32}};
}

}  // namespace det::nn
