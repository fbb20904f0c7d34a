// Recurrent layers as ONNX: steps first, weights transposed, gates in an order of its own.
#include "wrappers/nn/files/onnx_step.h"

namespace det::nn {

namespace {

// "" for what ONNX has not for gates.
const char *onnx_name(Activation activation) {
  switch (activation) {
    case Activation::sigmoid:
      return "Sigmoid";
    case Activation::tanh:
      return "Tanh";
    case Activation::relu:
      return "Relu";
    case Activation::hard_sigmoid:
      return "HardSigmoid";  // 0.2 x + 0.5, as in Keras
    case Activation::softsign:
      return "Softsign";
    case Activation::softplus:
      return "Softplus";
    default:
      return "";
  }
}

}  // namespace

struct OnnxStep::Recurrence {
  const char *operation;
  std::vector<int64_t> gates;  // of Keras' order, in that of ONNX
  std::vector<Activation> activations;
  const RecurrentExtras &extras;
  bool has_two_biases = false;  // also that of the product with the recurrent kernel
  std::vector<OnnxAttribute> attributes = {};
};

OnnxStep::Names OnnxStep::recurrent(const Recurrence &recurrence, bool goes_backwards) {
  const int64_t features = shape(0)[2], units = shape(2)[0];
  const auto width = static_cast<int64_t>(recurrence.gates.size()) * units;
  Names activations;
  for (const Activation activation : recurrence.activations) {
    activations.emplace_back(onnx_name(activation));
    if (activations.back().empty())
      refuse("ONNX has not its activation '" + std::string(name_of(activation)) + "' for gates");
  }
  std::vector<int64_t> order;
  for (const int64_t gate : recurrence.gates)
    for (int64_t unit = 0; unit < units; ++unit) order.push_back(gate * units + unit);
  const std::string columns = graph_.constant(order);
  const auto in_order = [&](const std::string &weight, int64_t axis) {
    return graph_.add("Gather", {weight, columns}, {{"axis", axis}});
  };
  const auto kernel = [&](size_t input, int64_t rows) {
    return reshaped(transposed(in_order(inputs_[input], 1), {1, 0}), {1, width, rows});
  };

  std::string x = transposed(inputs_[0], {1, 0, 2});
  if (goes_backwards) x = reversed(x, 0);
  Names inputs{x, kernel(1, features), kernel(2, units)};
  if (recurrence.extras.has_mask)
    refuse(
        "its sequences have a mask, and ONNX has lengths alone; write a model without mask_zero "
        "and Masking");
  const bool has_bias = inputs_.size() - recurrence.extras.inputs() > 3;
  if (has_bias && recurrence.has_two_biases) {
    inputs.push_back(reshaped(in_order(inputs_[3], 1), {1, 2 * width}));
  } else if (has_bias) {
    const std::string zeros = graph_.constant(Array({{width}, Dtype::f32}));
    const std::string both =
        graph_.add("Concat", {in_order(inputs_[3], 0), zeros}, {{"axis", int64_t{0}}});
    inputs.push_back(reshaped(both, {1, 2 * width}));
  }
  if (recurrence.extras.states > 0) inputs.resize(5);  // "": no bias, and no lengths
  for (size_t i = inputs_.size() - recurrence.extras.states; i < inputs_.size(); ++i)
    inputs.push_back(reshaped(inputs_[i], {1, -1, units}));
  std::vector<OnnxAttribute> attributes = recurrence.attributes;
  attributes.push_back({"hidden_size", units});
  attributes.push_back({"activations", activations});
  // (steps, 1, batch, units), then the last of each kind of state: (1, batch, units).
  const Names states =
      graph_.add_several(operands_.sizes.size(), recurrence.operation, inputs, attributes);
  Names results{reshaped(transposed(states[0], {2, 0, 1, 3}), {0, 0, units})};
  for (size_t i = 1; i < states.size(); ++i)
    results.push_back(reshaped(transposed(states[i], {1, 0, 2}), {0, units}));
  return results;
}

OnnxStep::Names OnnxStep::operator()(const LstmOp &op) {
  return recurrent(
      {"LSTM", {0, 3, 1, 2}, {op.recurrent_activation, op.activation, op.activation}, op.extras},
      op.goes_backwards);
}

OnnxStep::Names OnnxStep::operator()(const GruOp &op) {
  return recurrent({"GRU",
                    {0, 1, 2},
                    {op.recurrent_activation, op.activation},
                    op.extras,
                    op.resets_after,
                    {{"linear_before_reset", int64_t{op.resets_after ? 1 : 0}}}},
                   op.goes_backwards);
}

OnnxStep::Names OnnxStep::operator()(const SimpleRnnOp &op) {
  return recurrent({"RNN", {0}, {op.activation}, op.extras}, op.goes_backwards);
}

}  // namespace det::nn
