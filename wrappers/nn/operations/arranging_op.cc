#include "wrappers/nn/operations/arranging_op.h"

#include <algorithm>

#include "core/base/error.h"

namespace det::nn {

namespace {

void expect_axis(const ArrayType &type, size_t axis) {
  if (axis >= type.shape.size())
    throw Error(Code::invalid,
                "there is no axis " + std::to_string(axis) + " in " + text_of(type.shape));
}

}  // namespace

ArrayTypes TransposeOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 1, 1, "transpose");
  expect_float(inputs[0], "the input");
  const Shape &x = inputs[0].shape;
  std::vector<size_t> sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  bool has_each_once = sorted.size() == x.size();
  for (size_t i = 0; has_each_once && i < sorted.size(); ++i) has_each_once = sorted[i] == i;
  if (!has_each_once)
    throw Error(Code::invalid, "the new order does not have each axis of " + text_of(x) + " once");
  Shape y;
  for (const size_t axis : permutation) y.push_back(x[axis]);
  return {{y, Dtype::f32}};
}

ArrayTypes ConcatenateOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 1, inputs.size(), "concatenate");
  ArrayType joined = inputs[0];
  expect_axis(joined, axis);
  joined.shape[axis] = 0;
  for (const ArrayType &input : inputs) {
    expect_float(input, "an input");
    Shape others = input.shape;
    if (axis < others.size()) others[axis] = joined.shape[axis];
    if (others != joined.shape)
      throw Error(Code::invalid, "inputs of " + text_of(inputs[0].shape) + " and " +
                                     text_of(input.shape) + " do not fit side by side along axis " +
                                     std::to_string(axis));
    joined.shape[axis] += input.shape[axis];
    elements_of(joined.shape);  // many could add up to more than there can be
  }
  return {joined};
}

ArrayTypes SliceOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 1, 1, "slice");
  expect_float(inputs[0], "the input");
  expect_axis(inputs[0], axis);
  ArrayType part = inputs[0];
  if (begin < 0 || size < 0 || begin > part.shape[axis] || size > part.shape[axis] - begin)
    throw Error(Code::invalid, text_of(part.shape) + " has not " + std::to_string(size) +
                                   " from number " + std::to_string(begin) + " of axis " +
                                   std::to_string(axis));
  part.shape[axis] = size;
  return {part};
}

ArrayTypes ReverseOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 1, 1, "reverse");
  expect_float(inputs[0], "the input");
  expect_axis(inputs[0], axis);
  return inputs;
}

ArrayTypes BroadcastOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 1, 1, "broadcast");
  expect_float(inputs[0], "the input");
  const Shape &x = inputs[0].shape;
  bool fits = x.size() == shape.size();
  for (size_t i = 0; fits && i < x.size(); ++i) fits = x[i] == shape[i] || x[i] == 1;
  if (!fits)
    throw Error(Code::invalid,
                "an input of " + text_of(x) + " cannot be repeated to " + text_of(shape));
  return {{shape, Dtype::f32}};
}

}  // namespace det::nn
