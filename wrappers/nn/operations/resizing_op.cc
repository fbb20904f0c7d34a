#include "wrappers/nn/operations/resizing_op.h"

#include "core/base/error.h"

namespace det::nn {

ArrayTypes PaddingOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 1, 1, "padding");
  expect_float(inputs[0], "the input");
  Shape y = inputs[0].shape;
  if (before.size() != y.size() || after.size() != y.size())
    throw Error(Code::invalid, "an input of " + text_of(y) + " has not " +
                                   std::to_string(before.size()) + " axes");
  for (size_t axis = 0; axis < y.size(); ++axis) {
    y[axis] += before[axis] + after[axis];
    if (y[axis] < 0)
      throw Error(Code::invalid, "an input of " + text_of(inputs[0].shape) +
                                     " is smaller than what is to be cut off");
  }
  elements_of(y);
  return {{y, Dtype::f32}};
}

namespace {

ArrayTypes enlarged(const ArrayTypes &inputs, int64_t down, int64_t across, const char *operation) {
  expect_inputs(inputs, 1, 1, operation);
  expect_float(inputs[0], "the input");
  Shape y = inputs[0].shape;
  if (y.size() != 4)
    throw Error(Code::invalid, "an input of " + text_of(y) + " is no batch of images");
  if (down < 1 || across < 1)
    throw Error(Code::internal,
                std::string("adding the operation ") + operation + ": less than once");
  y[1] = elements_of({y[1], down});
  y[2] = elements_of({y[2], across});
  elements_of(y);
  return {{y, Dtype::f32}};
}

}  // namespace

ArrayTypes RepeatingOp::infer(const ArrayTypes &inputs) const {
  return enlarged(inputs, down, across, "repeating");
}

ArrayTypes InterpolatingOp::infer(const ArrayTypes &inputs) const {
  return enlarged(inputs, down, across, "interpolating");
}

}  // namespace det::nn
