// What the back end 'cuda' has for each operation, and for optimizers.
#pragma once

#include <algorithm>

#include "wrappers/nn/arithmetic/weight_arithmetic.h"
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
DET_CUDA_KERNEL(GruOp);  // null where it resets before the product, and as the others with a mask
DET_CUDA_KERNEL(LayerNormalizationOp);
DET_CUDA_KERNEL(LossOp);
DET_CUDA_KERNEL(LstmOp);
DET_CUDA_KERNEL(PaddingOp);
DET_CUDA_KERNEL(PoolingOp);
DET_CUDA_KERNEL(RegularizationOp);
DET_CUDA_KERNEL(ReluOp);
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
#undef DET_CUDA_KERNEL

// These are left to the plain loops.
inline std::unique_ptr<Kernel> cuda_kernel(const InterpolatingOp &, const Operands &,
                                           const CudaContextPtr &) {
  return nullptr;
}
inline std::unique_ptr<Kernel> cuda_kernel(const RandomImageOp &, const Operands &,
                                           const CudaContextPtr &) {
  return nullptr;
}

// Computed by the process: no published model has one that takes time.
inline std::unique_ptr<Kernel> cuda_kernel(const FunctionOp &, const Operands &,
                                           const CudaContextPtr &) {
  return nullptr;
}

// What cuda_kernel() gives. Members are the process' own: what a loop on the GPU needs of them is
// copied into what it captures.
template <class Op>
class CudaKernel : public OperationKernel<Op> {
 public:
  CudaKernel(Op op, Operands operands, CudaContextPtr context)
      : OperationKernel<Op>(std::move(op), std::move(operands)), context_(std::move(context)) {}

 protected:
  // Room that only this kernel uses.
  Array scratch(size_t elements) const {
    const ArrayType type{{static_cast<int64_t>(elements)}, Dtype::f32};
    return Array(type, context_->device_memory().allocate(std::max<size_t>(bytes_of(type), 1)));
  }
  static float *data_or_null(const Array &array) { return array ? array.data() : nullptr; }

  const CudaContextPtr context_;
};

std::unique_ptr<WeightArithmetic> make_cuda_weight_arithmetic(const CudaContextPtr &context);

}  // namespace det::nn
