#include "wrappers/nn/files/onnx_operations.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "core/base/error.h"

namespace det::nn {

namespace {

std::vector<int64_t> joined(Shape first, const Shape &second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

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

// One step of a program while it is written as ONNX. It visits operations, of which each has a
// function: that is why it has so many.
class OnnxStep {
 public:
  using Names = std::vector<std::string>;

  OnnxStep(OnnxGraph &graph, const Program::Step &step, const OnnxOperands &operands)
      : graph_(graph), step_(step), inputs_(operands.inputs), operands_(operands) {}

  Names operator()(const ActivationOp &op) {
    return {activated(op.activation, op.alpha, inputs_[0])};
  }

  Names operator()(const ArithmeticOp &op) {
    const auto name = [&] {
      switch (op.arithmetic) {
        case Arithmetic::add:
          return "Add";
        case Arithmetic::subtract:
          return "Sub";
        case Arithmetic::multiply:
          return "Mul";
        case Arithmetic::maximum:
          return "Max";
        case Arithmetic::minimum:
          return "Min";
      }
      return "";
    }();
    return {graph_.add(name, {inputs_[0], inputs_[1]})};
  }

  Names operator()(const BatchedMatMulOp &op) {
    std::vector<int64_t> exchanged(shape().size());
    std::iota(exchanged.begin(), exchanged.end(), 0);
    std::swap(exchanged.back(), exchanged[exchanged.size() - 2]);
    const auto factor = [&](size_t input, bool is_transposed) {
      return is_transposed ? transposed(inputs_[input], exchanged) : inputs_[input];
    };
    const std::string y =
        graph_.add("MatMul", {factor(0, op.transpose_a), factor(1, op.transpose_b)});
    if (op.scale == 1) return {y};
    return {graph_.add("Mul", {y, graph_.constant(op.scale)})};
  }

  Names operator()(const DenseOp &dense) {
    std::string y = graph_.add("MatMul", {inputs_[0], inputs_[1]});
    if (inputs_.size() > 2) y = graph_.add("Add", {y, inputs_[2]});
    return {activated(dense.activation, 1, y)};
  }

  Names operator()(const EmbeddingOp &) {
    constexpr int64_t of_int64 = 7;
    // Of real numbers the whole part counts.
    const std::string ids = operands_.types[0].dtype == Dtype::i32
                                ? inputs_[0]
                                : graph_.add("Cast", {inputs_[0]}, {{"to", of_int64}});
    return {graph_.add("Gather", {inputs_[1], ids}, {{"axis", int64_t{0}}})};
  }

  Names operator()(const FunctionOp &op) {
    constexpr int64_t of_float = 1, of_int32 = 6;
    const bool is_whole = operands_.types[0].dtype == Dtype::i32;
    const std::string x =
        is_whole ? graph_.add("Cast", {inputs_[0]}, {{"to", of_float}}) : inputs_[0];
    switch (op.function) {
      case Function::absolute:
        return {graph_.add("Abs", {x})};
      case Function::clip:
        return {graph_.add("Clip", {x, graph_.constant(op.a), graph_.constant(op.b)})};
      case Function::differs: {
        const std::string is_same = graph_.add("Equal", {x, graph_.constant(op.a)});
        return {graph_.add("Cast", {graph_.add("Not", {is_same})}, {{"to", of_float}})};
      }
      case Function::logarithm:
        return {graph_.add("Log", {x})};
      case Function::power:
        return {graph_.add("Pow", {x, graph_.constant(op.a)})};
      case Function::real:
        return {x};
      case Function::whole:
        return {graph_.add("Cast", {x}, {{"to", of_int32}})};
    }
    return {x};
  }

  // What is above the threshold, and what is left of all else.
  Names operator()(const ReluOp &op) {
    const std::string &x = inputs_[0];
    std::string y = op.threshold == 0
                        ? graph_.add("Relu", {x})
                        : graph_.add("ThresholdedRelu", {x}, {{"alpha", op.threshold}});
    if (std::isfinite(op.largest)) y = graph_.add("Min", {y, graph_.constant(op.largest)});
    if (op.slope == 0) return {y};
    const std::string missing =
        graph_.add("Relu", {graph_.add("Sub", {graph_.constant(op.threshold), x})});
    return {graph_.add("Sub", {y, graph_.add("Mul", {missing, graph_.constant(op.slope)})})};
  }

  Names operator()(const RoundingOp &op) {
    // ONNX' numbers of the types.
    constexpr int64_t of_float = 1, of_float16 = 10, of_bfloat16 = 16;
    const int64_t to = op.to == Dtype::f16 ? of_float16 : of_bfloat16;
    const std::string rounded = graph_.add("Cast", {inputs_[0]}, {{"to", to}});
    return {graph_.add("Cast", {rounded}, {{"to", of_float}})};
  }

  Names operator()(const ScaleOp &op) {
    const std::string scaled = graph_.add("Mul", {inputs_[0], graph_.constant(op.factor)});
    if (op.offset == 0) return {scaled};
    return {graph_.add("Add", {scaled, graph_.constant(op.offset)})};
  }

  Names operator()(const SoftmaxOp &op) {
    return {graph_.add(op.is_logarithm ? "LogSoftmax" : "Softmax", {inputs_[0]},
                       {{"axis", int64_t{-1}}})};
  }

  Names operator()(const BroadcastOp &) {
    std::vector<int64_t> sizes = size();
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] != unknown) continue;
      if (shape()[i] != unknown)
        refuse("it repeats an array as often as a size says that is left open");
      sizes[i] = 1;  // as it is
    }
    return {graph_.add("Expand", {inputs_[0], graph_.constant(sizes)})};
  }

  Names operator()(const ConcatenateOp &op) {
    return {graph_.add("Concat", inputs_, {{"axis", static_cast<int64_t>(op.axis)}})};
  }

  // Of images with their channels first; the name of a region is left empty.
  Names operator()(const InterpolatingOp &op) {
    const Array times({{4}, Dtype::f32});
    const float given[] = {1, 1, static_cast<float>(op.down), static_cast<float>(op.across)};
    std::copy(std::begin(given), std::end(given), times.data());
    const std::string y =
        graph_.add("Resize", {transposed(inputs_[0], {0, 3, 1, 2}), "", graph_.constant(times)},
                   {{"mode", std::string("linear")}});
    return {transposed(y, {0, 2, 3, 1})};
  }

  Names operator()(const PaddingOp &op) {
    return {graph_.add("Pad", {inputs_[0], graph_.constant(joined(op.before, op.after))})};
  }

  // Each row and each column becomes an axis of its own, which is made longer.
  Names operator()(const RepeatingOp &op) {
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

  Names operator()(const ReshapeOp &) {
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

  Names operator()(const ReverseOp &op) {
    return {reversed(inputs_[0], static_cast<int64_t>(op.axis))};
  }

  Names operator()(const SliceOp &op) {
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

  Names operator()(const TransposeOp &op) {
    return {transposed(inputs_[0], {op.permutation.begin(), op.permutation.end()})};
  }

  // What is hidden has 1e9 taken off, once.
  Names operator()(const AttentionMaskOp &op) {
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

  Names operator()(const BatchNormalizationOp &op) {
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

  Names operator()(const ConvolutionOp &op) {
    Names inputs = inputs_;
    inputs[1] = transposed(inputs[1], {3, 2, 0, 1});
    const std::string y = of_images(
        "Conv", inputs, op.window, pads_by_size(op),
        {{"dilations", std::vector<int64_t>{op.window.dilation[0], op.window.dilation[1]}},
         {"group", op.groups}});
    return {activated(op.activation, 1, y)};
  }

  Names operator()(const LayerNormalizationOp &op) {
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

  Names operator()(const PoolingOp &op) {
    const bool is_max = op.pooling == Pooling::max;
    if (op.window.size != with_other_sizes(op).window.size)  // that of the whole image
      return {graph_.add(is_max ? "ReduceMax" : "ReduceMean", {inputs_[0]},
                         {{"axes", std::vector<int64_t>{1, 2}}, {"keepdims", int64_t{1}}})};
    return {of_images(is_max ? "MaxPool" : "AveragePool", {inputs_[0]}, op.window, pads_by_size(op),
                      {})};
  }

  Names operator()(const GruOp &op) {
    return recurrent({"GRU",
                      {0, 1, 2},
                      {op.recurrent_activation, op.activation},
                      op.extras,
                      op.resets_after,
                      {{"linear_before_reset", int64_t{op.resets_after ? 1 : 0}}}},
                     op.goes_backwards);
  }

  Names operator()(const LstmOp &op) {
    return recurrent(
        {"LSTM", {0, 3, 1, 2}, {op.recurrent_activation, op.activation, op.activation}, op.extras},
        op.goes_backwards);
  }

  Names operator()(const SimpleRnnOp &op) {
    return recurrent({"RNN", {0}, {op.activation}, op.extras}, op.goes_backwards);
  }

  // What only training has.
  template <class Other>
  Names operator()(const Other &) {
    refuse("it is a part of training");
  }

 private:
  [[noreturn]] void refuse(const std::string &why) const {
    throw Error(Code::unsupported, "writing the layer " + step_.layer + " as ONNX: " + why);
  }

  // The operation where what inputs leave open has another size.
  template <class Op>
  const Op &with_other_sizes(const Op &) const {
    return std::get<Op>(*operands_.variants.at(2).operation);
  }
  template <class Op>
  bool pads_by_size(const Op &op) const {
    for (const OnnxVariant &one : operands_.variants) {
      const Window &other = std::get<Op>(*one.operation).window;
      if (op.window.before != other.before || op.window.after != other.after) return true;
    }
    return false;
  }
  // Whether an axis of the output is always as long as that of the input.
  bool stays(size_t axis) const {
    return std::all_of(operands_.variants.begin(), operands_.variants.end(), [&](const auto &one) {
      return axis < one.inputs[0].size() && one.inputs[0][axis] == one.outputs[0][axis];
    });
  }

  const Shape &shape(size_t input = 0) const { return operands_.types.at(input).shape; }
  const Shape &size(size_t output = 0) const { return operands_.sizes.at(output); }
  std::string activated(Activation activation, float alpha, const std::string &x) {
    const auto times = [&](const std::string &one, float by) {
      return graph_.add("Mul", {one, graph_.constant(by)});
    };
    // x / 2 * (1 + inner)
    const auto half_of = [&](const std::string &inner) {
      return graph_.add("Mul", {times(x, 0.5F), graph_.add("Add", {inner, graph_.constant(1.0F)})});
    };
    switch (activation) {
      case Activation::linear:
        return x;
      case Activation::relu:
        return graph_.add("Relu", {x});
      case Activation::relu6:
        return graph_.add("Clip", {x, graph_.constant(0.0F), graph_.constant(6.0F)});
      case Activation::sigmoid:
        return graph_.add("Sigmoid", {x});
      case Activation::tanh:
        return graph_.add("Tanh", {x});
      case Activation::elu:
        return graph_.add("Elu", {x}, {{"alpha", alpha}});
      case Activation::selu:
        return graph_.add("Selu", {x});
      case Activation::softplus:
        return graph_.add("Softplus", {x});
      case Activation::softsign:
        return graph_.add("Softsign", {x});
      case Activation::exponential:
        return graph_.add("Exp", {x});
      case Activation::hard_sigmoid:
        return graph_.add("HardSigmoid", {x}, {{"alpha", 0.2F}, {"beta", 0.5F}});
      case Activation::silu:
        return graph_.add("Mul", {x, graph_.add("Sigmoid", {x})});
      case Activation::gelu:
        return half_of(graph_.add("Erf", {times(x, std::numbers::sqrt2_v<float> / 2)}));
      case Activation::gelu_approximate: {
        const std::string cube = graph_.add("Mul", {x, graph_.add("Mul", {x, x})});
        const std::string sum = graph_.add("Add", {x, times(cube, 0.044715F)});
        return half_of(graph_.add("Tanh", {times(sum, 0.7978845608F)}));  // sqrt(2 / pi)
      }
      case Activation::mish:
        return graph_.add("Mul", {x, graph_.add("Tanh", {graph_.add("Softplus", {x})})});
      case Activation::leaky_relu:
        return graph_.add("LeakyRelu", {x}, {{"alpha", alpha}});
      default:
        refuse("its activation is not written as ONNX yet");
    }
  }
  std::string transposed(const std::string &x, const std::vector<int64_t> &permutation) {
    return graph_.add("Transpose", {x}, {{"perm", permutation}});
  }
  // To a shape in which 0 is the size that x has there.
  std::string reshaped(const std::string &x, const std::vector<int64_t> &shape) {
    return graph_.add("Reshape", {x, graph_.constant(shape)});
  }
  std::string reversed(const std::string &x, int64_t axis) {
    const auto one = [&](int64_t value) { return graph_.constant(std::vector<int64_t>{value}); };
    return graph_.add("Slice",
                      {x, one(-1), one(std::numeric_limits<int64_t>::min()), one(axis), one(-1)});
  }
  // (x - mean) / sqrt(variance + epsilon)
  std::string normalized(const std::string &x, const std::string &mean, const std::string &variance,
                         float epsilon) {
    const std::string sum = graph_.add("Add", {variance, graph_.constant(epsilon)});
    return graph_.add("Div", {graph_.add("Sub", {x, mean}), graph_.add("Sqrt", {sum})});
  }
  // `operation` of images with their channels first. `pads_by_size`: what is padded depends
  // on how large they are.
  std::string of_images(const char *operation, Names inputs, const Window &window,
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

  struct Recurrence {
    const char *operation;
    std::vector<int64_t> gates;  // of Keras' order, in that of ONNX
    std::vector<Activation> activations;
    const RecurrentExtras &extras;
    bool has_two_biases = false;  // also that of the product with the recurrent kernel
    std::vector<OnnxAttribute> attributes = {};
  };

  Names recurrent(const Recurrence &recurrence, bool goes_backwards) {
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

  OnnxGraph &graph_;
  const Program::Step &step_;
  const Names &inputs_;
  const OnnxOperands &operands_;
};

}  // namespace

std::vector<std::string> write_step(OnnxGraph &graph, const Program::Step &step,
                                    const OnnxOperands &operands) {
  return std::visit(OnnxStep(graph, step, operands), step.operation);
}

}  // namespace det::nn
