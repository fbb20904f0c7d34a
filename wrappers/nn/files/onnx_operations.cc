#include "wrappers/nn/files/onnx_operations.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include "core/base/error.h"
#include "wrappers/nn/files/onnx_step.h"

namespace det::nn {

OnnxStep::Names OnnxStep::operator()(const DenseOp &dense) {
  std::string y = graph_.add("MatMul", {inputs_[0], inputs_[1]});
  if (inputs_.size() > 2) y = graph_.add("Add", {y, inputs_[2]});
  return {activated(dense.activation, 1, y)};
}

OnnxStep::Names OnnxStep::operator()(const ActivationOp &op) {
  return {activated(op.activation, op.alpha, inputs_[0])};
}

// What is above the threshold, and what is left of all else.
OnnxStep::Names OnnxStep::operator()(const ReluOp &op) {
  const std::string &x = inputs_[0];
  std::string y = op.threshold == 0 ? graph_.add("Relu", {x})
                                    : graph_.add("ThresholdedRelu", {x}, {{"alpha", op.threshold}});
  if (std::isfinite(op.largest)) y = graph_.add("Min", {y, graph_.constant(op.largest)});
  if (op.slope == 0) return {y};
  const std::string missing =
      graph_.add("Relu", {graph_.add("Sub", {graph_.constant(op.threshold), x})});
  return {graph_.add("Sub", {y, graph_.add("Mul", {missing, graph_.constant(op.slope)})})};
}

OnnxStep::Names OnnxStep::operator()(const ArithmeticOp &op) {
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

OnnxStep::Names OnnxStep::operator()(const ScaleOp &op) {
  const std::string scaled = graph_.add("Mul", {inputs_[0], graph_.constant(op.factor)});
  if (op.offset == 0) return {scaled};
  return {graph_.add("Add", {scaled, graph_.constant(op.offset)})};
}

OnnxStep::Names OnnxStep::operator()(const SoftmaxOp &op) {
  return {graph_.add(op.is_logarithm ? "LogSoftmax" : "Softmax", {inputs_[0]},
                     {{"axis", int64_t{-1}}})};
}

OnnxStep::Names OnnxStep::operator()(const EmbeddingOp &) {
  constexpr int64_t of_int64 = 7;
  // Of real numbers the whole part counts.
  const std::string ids = operands_.types[0].dtype == Dtype::i32
                              ? inputs_[0]
                              : graph_.add("Cast", {inputs_[0]}, {{"to", of_int64}});
  return {graph_.add("Gather", {inputs_[1], ids}, {{"axis", int64_t{0}}})};
}

OnnxStep::Names OnnxStep::operator()(const FunctionOp &op) {
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

OnnxStep::Names OnnxStep::operator()(const BatchedMatMulOp &op) {
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

OnnxStep::Names OnnxStep::operator()(const RoundingOp &op) {
  // ONNX' numbers of the types.
  constexpr int64_t of_float = 1, of_float16 = 10, of_bfloat16 = 16;
  const int64_t to = op.to == Dtype::f16 ? of_float16 : of_bfloat16;
  const std::string rounded = graph_.add("Cast", {inputs_[0]}, {{"to", to}});
  return {graph_.add("Cast", {rounded}, {{"to", of_float}})};
}

std::string OnnxStep::activated(Activation activation, float alpha, const std::string &x) {
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

void OnnxStep::refuse(const std::string &why) const {
  throw Error(Code::unsupported, "writing the layer " + step_.layer + " as ONNX: " + why);
}

std::string OnnxStep::transposed(const std::string &x, const std::vector<int64_t> &permutation) {
  return graph_.add("Transpose", {x}, {{"perm", permutation}});
}

std::string OnnxStep::reshaped(const std::string &x, const std::vector<int64_t> &shape) {
  return graph_.add("Reshape", {x, graph_.constant(shape)});
}

std::vector<std::string> write_step(OnnxGraph &graph, const Program::Step &step,
                                    const OnnxOperands &operands) {
  return std::visit(OnnxStep(graph, step, operands), step.operation);
}

}  // namespace det::nn
