// Plain loops for every operation: what other back ends are compared with, and what they fall back
// on. Written to be read; the compiler makes them quick where it can.
#pragma once

#include <memory>

#include "wrappers/nn/backend.h"

namespace det::nn {

std::unique_ptr<Kernel> make_reference_kernel(const Operation &operation, const Operands &operands);

std::shared_ptr<Backend> open_reference_backend();

// One for each operation, in the file of its name.
std::unique_ptr<Kernel> reference_kernel(const ActivationOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const ArithmeticOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const AttentionMaskOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const BatchNormalizationOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const BatchedMatMulOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const BroadcastOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const ConcatenateOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const ConvolutionOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const DenseOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const DropoutOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const EmbeddingOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const FunctionOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const GruOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const InterpolatingOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const LayerNormalizationOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const LossOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const LstmOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const PaddingOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const PoolingOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const RandomImageOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const RegularizationOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const ReluOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const RepeatingOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const ReshapeOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const ReverseOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const RoundingOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const ScaleOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const SimpleRnnOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const SliceOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const SoftmaxOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const SparseCrossEntropyOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const SparseLossOp &op, const Operands &operands);
std::unique_ptr<Kernel> reference_kernel(const TransposeOp &op, const Operands &operands);

}  // namespace det::nn
