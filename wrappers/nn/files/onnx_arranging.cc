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

OnnxStep::Names OnnxStep::operator()(const ReshapeOp &) {
  // The one size that is left open is that of the batch: -1.
  if (std::count(size().begin(), size().end(), unknown) > 1)
    refuse("its shape changes with the batch in more than one place");
  return {reshaped(inputs_[0], size())};
}

OnnxStep::Names OnnxStep::operator()(const TransposeOp &op) {
  return {transposed(inputs_[0], {op.permutation.begin(), op.permutation.end()})};
}

OnnxStep::Names OnnxStep::operator()(const ConcatenateOp &op) {
  return {graph_.add("Concat", inputs_, {{"axis", static_cast<int64_t>(op.axis)}})};
}

OnnxStep::Names OnnxStep::operator()(const SliceOp &op) {
  if (shape().at(op.axis) == unknown) refuse("it takes a part of the batch");
  const auto one = [&](int64_t value) { return graph_.constant(std::vector<int64_t>{value}); };
  return {graph_.add("Slice", {inputs_[0], one(op.begin), one(op.begin + op.size),
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
    if (shape()[i] != unknown) refuse("it repeats an array as often as there are records");
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
  const std::string apart = reshaped(inputs_[0], {0, rows, 1, columns, 1, channels});
  const std::string repeated =
      graph_.add("Expand", {apart, graph_.constant(std::vector<int64_t>{1, rows, op.down, columns,
                                                                        op.across, channels})});
  return {reshaped(repeated, {0, rows * op.down, columns * op.across, channels})};
}

}  // namespace det::nn
