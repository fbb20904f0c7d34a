// What the back end 'cuda' has for each operation, in the file of its name.
#pragma once

#include <algorithm>

#include "wrappers/nn/backend.h"
#include "wrappers/nn/cuda/cuda_context.h"

namespace det::nn {

// One for each operation; those that give null for some of what they may be asked say so.
#define DET_CUDA_KERNEL(Op)                                                   \
  std::unique_ptr<Kernel> cuda_kernel(const Op &op, const Operands &operands, \
                                      const CudaContextPtr &context)
DET_CUDA_KERNEL(ActivationOp);
DET_CUDA_KERNEL(ArithmeticOp);
DET_CUDA_KERNEL(AttentionMaskOp);
DET_CUDA_KERNEL(BatchNormalizationOp);
DET_CUDA_KERNEL(BatchedMatMulOp);
DET_CUDA_KERNEL(BroadcastOp);
DET_CUDA_KERNEL(ConcatenateOp);
DET_CUDA_KERNEL(ConvolutionOp);
DET_CUDA_KERNEL(DenseOp);
DET_CUDA_KERNEL(DropoutOp);
DET_CUDA_KERNEL(EmbeddingOp);
DET_CUDA_KERNEL(GruOp);  // null where it resets before the product
DET_CUDA_KERNEL(LayerNormalizationOp);
DET_CUDA_KERNEL(LossOp);
DET_CUDA_KERNEL(LstmOp);
DET_CUDA_KERNEL(PaddingOp);
DET_CUDA_KERNEL(PoolingOp);
DET_CUDA_KERNEL(RegularizationOp);
DET_CUDA_KERNEL(RepeatingOp);
DET_CUDA_KERNEL(ReshapeOp);
DET_CUDA_KERNEL(ReverseOp);
DET_CUDA_KERNEL(RoundingOp);
DET_CUDA_KERNEL(ScaleOp);
DET_CUDA_KERNEL(SimpleRnnOp);
DET_CUDA_KERNEL(SliceOp);
DET_CUDA_KERNEL(SoftmaxOp);
DET_CUDA_KERNEL(SparseCrossEntropyOp);
DET_CUDA_KERNEL(SparseLossOp);
DET_CUDA_KERNEL(TransposeOp);

// What cuda_kernel() gives: an operation and its operands. Members are the process' own: what a
// loop on the GPU needs of them is copied into what it captures.
template <class Op>
class CudaKernel : public Kernel {
 public:
  CudaKernel(Op op, Operands operands, CudaContextPtr context)
      : op_(std::move(op)), operands_(std::move(operands)), context_(std::move(context)) {}

 protected:
  const Array &input(size_t i) const { return operands_.inputs.at(i); }
  const Array &output(size_t i = 0) const { return operands_.outputs.at(i); }
  const Array &input_gradient(size_t i) const { return operands_.input_gradients.at(i); }
  const Array &output_gradient(size_t i = 0) const { return operands_.output_gradients.at(i); }
  size_t inputs() const { return operands_.inputs.size(); }
  // Room that only this kernel uses.
  Array scratch(size_t elements) const {
    const ArrayType type{{static_cast<int64_t>(elements)}, Dtype::f32};
    return Array(type, context_->device_memory().allocate(std::max<size_t>(bytes_of(type), 1)));
  }
  static float *data_or_null(const Array &array) { return array ? array.data() : nullptr; }

  const Op op_;
  const Operands operands_;
  const CudaContextPtr context_;
};

}  // namespace det::nn
