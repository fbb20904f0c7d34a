#include "wrappers/nn/operations/normalization_op.h"

#include "core/base/error.h"

namespace det::nn {

namespace {

ArrayTypes infer_normalized(const ArrayTypes &inputs, size_t axis) {
  for (const ArrayType &input : inputs) expect_float(input, "an input");
  const Shape &x = inputs[0].shape;
  if (axis < 1 || axis >= x.size())
    throw Error(Code::invalid, "an input of " + text_of(x) + " has no axis to be normalized");
  for (size_t i = 1; i < inputs.size(); ++i)
    expect_shape(inputs[i], {x[axis]}, "a weight of the normalization");
  return {inputs[0]};
}

}  // namespace

ArrayTypes BatchNormalizationOp::infer(const ArrayTypes &inputs) const {
  const size_t count = moving_mean() + 2U + (has_mask ? 1 : 0);
  expect_inputs(inputs, count, count, "batch normalization");
  if (!has_mask) return infer_normalized(inputs, axis);
  const Shape &x = inputs[0].shape;
  if (x.size() != 3)
    throw Error(Code::unsupported,
                "batch normalization with a mask takes an input of the axes batch, steps and "
                "features, not " +
                    text_of(x));
  expect_float(inputs.back(), "the mask");
  expect_shape(inputs.back(), {x[0], x[1]}, "the mask");
  return infer_normalized({inputs.begin(), inputs.end() - 1}, axis);
}

ArrayTypes LayerNormalizationOp::infer(const ArrayTypes &inputs) const {
  const size_t count = 1U + (has_scale ? 1 : 0) + (has_center ? 1 : 0);
  expect_inputs(inputs, count, count, "layer normalization");
  return infer_normalized(inputs, inputs[0].shape.size() - 1);
}

}  // namespace det::nn
