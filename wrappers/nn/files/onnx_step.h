// One step of a program while it is written as ONNX: a function for each kind of operation.
#pragma once

#include "wrappers/nn/files/onnx_operations.h"

namespace det::nn {

class OnnxStep {
 public:
  using Names = std::vector<std::string>;

  OnnxStep(OnnxGraph &graph, const Program::Step &step, const OnnxOperands &operands)
      : graph_(graph), step_(step), inputs_(operands.inputs), operands_(operands) {}

  // onnx_operations.cc
  Names operator()(const ActivationOp &op);
  Names operator()(const ArithmeticOp &op);
  Names operator()(const BatchedMatMulOp &op);
  Names operator()(const DenseOp &op);
  Names operator()(const EmbeddingOp &op);
  Names operator()(const FunctionOp &op);
  Names operator()(const ReluOp &op);
  Names operator()(const RoundingOp &op);
  Names operator()(const ScaleOp &op);
  Names operator()(const SoftmaxOp &op);
  // onnx_arranging.cc
  Names operator()(const BroadcastOp &op);
  Names operator()(const ConcatenateOp &op);
  Names operator()(const InterpolatingOp &op);
  Names operator()(const PaddingOp &op);
  Names operator()(const RepeatingOp &op);
  Names operator()(const ReshapeOp &op);
  Names operator()(const ReverseOp &op);
  Names operator()(const SliceOp &op);
  Names operator()(const TransposeOp &op);
  // onnx_layers.cc
  Names operator()(const AttentionMaskOp &op);
  Names operator()(const BatchNormalizationOp &op);
  Names operator()(const ConvolutionOp &op);
  Names operator()(const LayerNormalizationOp &op);
  Names operator()(const PoolingOp &op);
  // onnx_recurrent.cc
  Names operator()(const GruOp &op);
  Names operator()(const LstmOp &op);
  Names operator()(const SimpleRnnOp &op);

  // What only training has.
  template <class Other>
  Names operator()(const Other &) {
    refuse("it is a part of training");
  }

 private:
  [[noreturn]] void refuse(const std::string &why) const;

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
  bool stays(size_t axis) const;

  const Shape &shape(size_t input = 0) const { return operands_.types.at(input).shape; }
  const Shape &size(size_t output = 0) const { return operands_.sizes.at(output); }
  std::string activated(Activation activation, float alpha, const std::string &x);
  std::string transposed(const std::string &x, const std::vector<int64_t> &permutation);
  // To a shape in which 0 is the size that x has there.
  std::string reshaped(const std::string &x, const std::vector<int64_t> &shape);
  std::string reversed(const std::string &x, int64_t axis);
  // (x - mean) / sqrt(variance + epsilon)
  std::string normalized(const std::string &x, const std::string &mean, const std::string &variance,
                         float epsilon);
  // `operation` of images with their channels first. `pads_by_size`: what is padded depends
  // on how large they are.
  std::string of_images(const char *operation, Names inputs, const Window &window,
                        bool pads_by_size, std::vector<OnnxAttribute> attributes);

  struct Recurrence;
  Names recurrent(const Recurrence &recurrence, bool goes_backwards);

  OnnxGraph &graph_;
  const Program::Step &step_;
  const Names &inputs_;
  const OnnxOperands &operands_;
};

}  // namespace det::nn
