#include "wrappers/nn/files/onnx_operations.h"

#include <algorithm>
#include <numbers>

#include "core/base/error.h"

namespace det::nn {

namespace {

class OnnxStep {
 public:
  OnnxStep(OnnxGraph &graph, const Program::Step &step, const std::vector<std::string> &inputs,
           const std::vector<Shape> &sizes)
      : graph_(graph), step_(step), inputs_(inputs), sizes_(sizes) {}

  std::vector<std::string> operator()(const DenseOp &dense) {
    std::string y = graph_.add("MatMul", {inputs_[0], inputs_[1]});
    if (inputs_.size() > 2) y = graph_.add("Add", {y, inputs_[2]});
    return {activated(dense.activation, 1, y)};
  }

  std::vector<std::string> operator()(const ActivationOp &op) {
    return {activated(op.activation, op.alpha, inputs_[0])};
  }

  std::vector<std::string> operator()(const ArithmeticOp &op) {
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

  std::vector<std::string> operator()(const ScaleOp &op) {
    const std::string scaled = graph_.add("Mul", {inputs_[0], graph_.constant(op.factor)});
    if (op.offset == 0) return {scaled};
    return {graph_.add("Add", {scaled, graph_.constant(op.offset)})};
  }

  std::vector<std::string> operator()(const SoftmaxOp &) {
    return {graph_.add("Softmax", {inputs_[0]}, {{"axis", int64_t{-1}}})};
  }

  std::vector<std::string> operator()(const ReshapeOp &) {
    // The one size that is left open is that of the batch: -1.
    if (std::count(sizes_[0].begin(), sizes_[0].end(), unknown) > 1)
      refuse("its shape changes with the batch in more than one place");
    return {graph_.add("Reshape", {inputs_[0], graph_.constant(sizes_[0])})};
  }

  std::vector<std::string> operator()(const RoundingOp &op) {
    // ONNX' numbers of the types.
    constexpr int64_t of_float = 1, of_float16 = 10, of_bfloat16 = 16;
    const int64_t to = op.to == Dtype::f16 ? of_float16 : of_bfloat16;
    const std::string rounded = graph_.add("Cast", {inputs_[0]}, {{"to", to}});
    return {graph_.add("Cast", {rounded}, {{"to", of_float}})};
  }

  template <class Other>
  std::vector<std::string> operator()(const Other &) {
    refuse("what it computes is not written as ONNX yet");
  }

 private:
  [[noreturn]] void refuse(const std::string &why) const {
    throw Error(Code::unsupported, "writing the layer " + step_.layer + " as ONNX: " + why);
  }

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
      case Activation::leaky_relu:
        return graph_.add("LeakyRelu", {x}, {{"alpha", alpha}});
      default:
        refuse("its activation is not written as ONNX yet");
    }
  }

  OnnxGraph &graph_;
  const Program::Step &step_;
  const std::vector<std::string> &inputs_;
  const std::vector<Shape> &sizes_;
};

}  // namespace

std::vector<std::string> write_step(OnnxGraph &graph, const Program::Step &step,
                                    const std::vector<std::string> &inputs,
                                    const std::vector<Shape> &sizes) {
  return std::visit(OnnxStep(graph, step, inputs, sizes), step.operation);
}

}  // namespace det::nn
