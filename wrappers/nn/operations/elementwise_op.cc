#include "wrappers/nn/operations/elementwise_op.h"

#include <algorithm>

#include "core/base/error.h"

namespace det::nn {

ArrayTypes ActivationOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 1, 1, "activation");
  expect_float(inputs[0], "the input");
  return inputs;
}

ArrayTypes ReluOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 1, 1, "relu");
  expect_float(inputs[0], "the input");
  return inputs;
}

ArrayTypes ScaleOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 1, 1, "scale");
  expect_float(inputs[0], "the input");
  return inputs;
}

ArrayTypes SoftmaxOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 1, 1, "softmax");
  expect_float(inputs[0], "the input");
  if (inputs[0].shape.size() < 2)
    throw Error(Code::invalid, "a softmax needs an axis beside that of the batch; the input has " +
                                   text_of(inputs[0].shape));
  return inputs;
}

ArrayTypes ReshapeOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 1, 1, "reshape");
  if (elements_of(inputs[0].shape) != elements_of(shape))
    throw Error(Code::invalid, "an input of " + text_of(inputs[0].shape) +
                                   " has not as many elements as " + text_of(shape));
  return {{shape, inputs[0].dtype}};
}

ArrayTypes FunctionOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 1, 1, "function");
  if (inputs[0].dtype != Dtype::i32) expect_float(inputs[0], "the input");
  return {{inputs[0].shape, function == Function::whole ? Dtype::i32 : Dtype::f32}};
}

ArrayTypes ArithmeticOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 2, 2, "arithmetic");
  for (const ArrayType &input : inputs) expect_float(input, "an input");
  const Shape &x = inputs[0].shape;
  const Shape &y = inputs[1].shape;
  if (y.size() > x.size() || !std::equal(y.rbegin(), y.rend(), x.rbegin()))
    throw Error(Code::invalid,
                "inputs of " + text_of(x) + " and " + text_of(y) + " do not fit together");
  return {inputs[0]};
}

}  // namespace det::nn
