// Images, normalization and attention, as ONNX.
#include "wrappers/nn/files/onnx_step.h"

namespace det::nn {

std::string OnnxStep::of_images(const char *operation, Names inputs, const Window &window,
                                bool pads_by_size, std::vector<OnnxAttribute> attributes) {
  const auto both = [](const Window::Sizes &sizes) {
    return std::vector<int64_t>(sizes.begin(), sizes.end());
  };
  inputs[0] = transposed(inputs[0], {0, 3, 1, 2});
  attributes.push_back({"kernel_shape", both(window.size)});
  attributes.push_back({"strides", both(window.strides)});
  // What is padded such that each stride has a window depends on the size.
  if (pads_by_size) attributes.push_back({"auto_pad", std::string("SAME_UPPER")});
  else
    attributes.push_back({"pads", std::vector<int64_t>{window.before[0], window.before[1],
                                                       window.after[0], window.after[1]}});
  return transposed(graph_.add(operation, inputs, attributes), {0, 2, 3, 1});
}

OnnxStep::Names OnnxStep::operator()(const ConvolutionOp &op) {
  Names inputs = inputs_;
  inputs[1] = transposed(inputs[1], {3, 2, 0, 1});
  const std::string y =
      of_images("Conv", inputs, op.window, pads_by_size(op),
                {{"dilations", std::vector<int64_t>{op.window.dilation[0], op.window.dilation[1]}},
                 {"group", op.groups}});
  return {activated(op.activation, 1, y)};
}

OnnxStep::Names OnnxStep::operator()(const PoolingOp &op) {
  const bool is_max = op.pooling == Pooling::max;
  if (op.window.size != with_other_sizes(op).window.size)  // that of the whole image
    return {graph_.add(is_max ? "ReduceMax" : "ReduceMean", {inputs_[0]},
                       {{"axes", std::vector<int64_t>{1, 2}}, {"keepdims", int64_t{1}}})};
  return {
      of_images(is_max ? "MaxPool" : "AveragePool", {inputs_[0]}, op.window, pads_by_size(op), {})};
}

std::string OnnxStep::normalized(const std::string &x, const std::string &mean,
                                 const std::string &variance, float epsilon) {
  const std::string sum = graph_.add("Add", {variance, graph_.constant(epsilon)});
  return graph_.add("Div", {graph_.add("Sub", {x, mean}), graph_.add("Sqrt", {sum})});
}

OnnxStep::Names OnnxStep::operator()(const BatchNormalizationOp &op) {
  if (op.is_training) refuse("it takes the means of each batch");
  const size_t behind = shape().size() - op.axis - 1;
  const auto along_axis = [&](size_t input) {
    if (behind == 0) return inputs_[input];
    std::vector<int64_t> sizes(behind + 1, 1);
    sizes[0] = shape()[op.axis];
    return reshaped(inputs_[input], sizes);
  };
  size_t next = 1;
  const size_t mean = op.moving_mean();
  std::string y = normalized(inputs_[0], along_axis(mean), along_axis(mean + 1), op.epsilon);
  if (op.has_scale) y = graph_.add("Mul", {y, along_axis(next++)});
  if (op.has_center) y = graph_.add("Add", {y, along_axis(next++)});
  return {y};
}

OnnxStep::Names OnnxStep::operator()(const LayerNormalizationOp &op) {
  const auto mean_of = [&](const std::string &x) {
    return graph_.add("ReduceMean", {x}, {{"axes", std::vector<int64_t>{-1}}});
  };
  const std::string mean = mean_of(inputs_[0]);
  const std::string difference = graph_.add("Sub", {inputs_[0], mean});
  const std::string variance = mean_of(graph_.add("Mul", {difference, difference}));
  std::string y = normalized(inputs_[0], mean, variance, op.epsilon);
  size_t next = 1;
  if (op.has_scale) y = graph_.add("Mul", {y, inputs_[next++]});
  if (op.has_center) y = graph_.add("Add", {y, inputs_[next++]});
  return {y};
}

// What is hidden has 1e9 taken off, once.
OnnxStep::Names OnnxStep::operator()(const AttentionMaskOp &op) {
  constexpr int64_t of_float = 1, of_bool = 9;
  Names hidden;
  if (inputs_.size() > 1) {
    const std::string seen = graph_.add("Cast", {inputs_[1]}, {{"to", of_bool}});
    hidden.push_back(graph_.add("Cast", {graph_.add("Not", {seen})}, {{"to", of_float}}));
  }
  if (op.is_causal) {
    const int64_t queries = shape()[2], keys = shape()[3];
    if (queries == unknown || keys == unknown)
      refuse(
          "use_causal_mask of sequences of open length is not written as ONNX yet; say how long "
          "they are");
    const Array later({{queries, keys}, Dtype::f32});
    for (int64_t query = 0; query < queries; ++query)
      for (int64_t key = query + 1; key < keys; ++key) later.data()[query * keys + key] = 1;
    hidden.push_back(graph_.constant(later));
  }
  if (hidden.empty()) return {inputs_[0]};
  const std::string all = hidden.size() == 1 ? hidden[0] : graph_.add("Max", hidden);
  return {graph_.add("Sub", {inputs_[0], graph_.add("Mul", {all, graph_.constant(1e9F)})})};
}

}  // namespace det::nn
