// The same elements elsewhere, as ONNX.
#include <algorithm>
#include <limits>

#include "wrappers/nn/files/onnx_step.h"

namespace det::nn {

namespace {

std::vector<int64_t> joined(Shape first, const Shape &second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

bool OnnxStep::stays(size_t axis) const {
  return std::all_of(operands_.variants.begin(), operands_.variants.end(), [&](const auto &one) {
    return axis < one.inputs[0].size() && one.inputs[0][axis] == one.outputs[0][axis];
  });
}

OnnxStep::Names OnnxStep::operator()(const ReshapeOp &) {
  // 0 is the size of the input, and -1, at one place, what follows from the others.
  Shape sizes = size();
  if (std::count(sizes.begin(), sizes.end(), unknown) > 1)
    for (size_t axis = 0; axis < sizes.size(); ++axis)
      if (sizes[axis] == unknown && stays(axis)) sizes[axis] = 0;
  if (std::count(sizes.begin(), sizes.end(), unknown) > 1)
    refuse(
        "its shape changes in more than one place; say how long sequences and how large images "
        "are");
  return {reshaped(inputs_[0], sizes)};
}

OnnxStep::Names OnnxStep::operator()(const TransposeOp &op) {
  return {transposed(inputs_[0], {op.permutation.begin(), op.permutation.end()})};
}

OnnxStep::Names OnnxStep::operator()(const ConcatenateOp &op) {
  return {graph_.add("Concat", inputs_, {{"axis", static_cast<int64_t>(op.axis)}})};
}

OnnxStep::Names OnnxStep::operator()(const SliceOp &op) {
  if (op.axis == 0) refuse("it takes a part of the batch");
  const auto one = [&](int64_t value) { return graph_.constant(std::vector<int64_t>{value}); };
  // Of an axis of open length ends are counted from its beginning, or from its end.
  const SliceOp &other = with_other_sizes(op);
  const int64_t length = operands_.variants[0].inputs[0][op.axis];
  const int64_t other_length = operands_.variants[2].inputs[0][op.axis];
  const auto end = [&](int64_t of_this, int64_t of_other) {
    if (of_this == of_other) return of_this;
    if (of_this - length != of_other - other_length)
      refuse("it takes a part whose ends depend on the length");
    return of_this == length ? std::numeric_limits<int64_t>::max() : of_this - length;
  };
  return {graph_.add("Slice", {inputs_[0], one(end(op.begin, other.begin)),
                               one(end(op.begin + op.size, other.begin + other.size)),
                               one(static_cast<int64_t>(op.axis))})};
}

std::string OnnxStep::reversed(const std::string &x, int64_t axis) {
  const auto one = [&](int64_t value) { return graph_.constant(std::vector<int64_t>{value}); };
  return graph_.add("Slice",
                    {x, one(-1), one(std::numeric_limits<int64_t>::min()), one(axis), one(-1)});
}

OnnxStep::Names OnnxStep::operator()(const ReverseOp &op) {
  return {reversed(inputs_[0], static_cast<int64_t>(op.axis))};
}

OnnxStep::Names OnnxStep::operator()(const BroadcastOp &) {
  std::vector<int64_t> sizes = size();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != unknown) continue;
    if (shape()[i] != unknown)
      refuse("it repeats an array as often as a size says that is left open");
    sizes[i] = 1;  // as it is
  }
  return {graph_.add("Expand", {inputs_[0], graph_.constant(sizes)})};
}

OnnxStep::Names OnnxStep::operator()(const PaddingOp &op) {
  return {graph_.add("Pad", {inputs_[0], graph_.constant(joined(op.before, op.after))})};
}

// Of images with their channels first; the name of a region is left empty.
OnnxStep::Names OnnxStep::operator()(const InterpolatingOp &op) {
  const Array times({{4}, Dtype::f32});
  const float given[] = {1, 1, static_cast<float>(op.down), static_cast<float>(op.across)};
  std::copy(std::begin(given), std::end(given), times.data());
  const std::string y =
      graph_.add("Resize", {transposed(inputs_[0], {0, 3, 1, 2}), "", graph_.constant(times)},
                 {{"mode", std::string("linear")}});
  return {transposed(y, {0, 2, 3, 1})};
}

// Each row and each column becomes an axis of its own, which is made longer.
OnnxStep::Names OnnxStep::operator()(const RepeatingOp &op) {
  const int64_t rows = shape().at(1), columns = shape().at(2), channels = shape().at(3);
  if (rows == unknown || columns == unknown) {
    const Array scales({{4}, Dtype::f32});
    scales.data()[0] = scales.data()[3] = 1;
    scales.data()[1] = static_cast<float>(op.down);
    scales.data()[2] = static_cast<float>(op.across);
    return {graph_.add("Resize", {inputs_[0], "", graph_.constant(scales)},
                       {{"coordinate_transformation_mode", std::string("asymmetric")},
                        {"mode", std::string("nearest")},
                        {"nearest_mode", std::string("floor")}})};
  }
  const std::string apart = reshaped(inputs_[0], {0, rows, 1, columns, 1, channels});
  const std::string repeated =
      graph_.add("Expand", {apart, graph_.constant(std::vector<int64_t>{1, rows, op.down, columns,
                                                                        op.across, channels})});
  return {reshaped(repeated, {0, rows * op.down, columns * op.across, channels})};
}

}  // namespace det::nn
