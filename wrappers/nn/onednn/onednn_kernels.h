// What oneDNN computes for us, and what loops of our own do better: a file per family.
#pragma once

#include "wrappers/nn/backend.h"
#include "wrappers/nn/onednn/onednn_primitive.h"

namespace det::nn {

using OnednnContextPtr = std::shared_ptr<OnednnContext>;

std::shared_ptr<Backend> open_onednn_backend(int threads);

// Null where the plain loops are as good: what is small.
std::unique_ptr<Kernel> onednn_kernel(const ActivationOp &op, const Operands &operands,
                                      const OnednnContextPtr &context);
std::unique_ptr<Kernel> onednn_kernel(const ArithmeticOp &op, const Operands &operands,
                                      const OnednnContextPtr &context);
std::unique_ptr<Kernel> onednn_kernel(const BatchNormalizationOp &op, const Operands &operands,
                                      const OnednnContextPtr &context);
std::unique_ptr<Kernel> onednn_kernel(const BatchedMatMulOp &op, const Operands &operands,
                                      const OnednnContextPtr &context);
std::unique_ptr<Kernel> onednn_kernel(const ConvolutionOp &op, const Operands &operands,
                                      const OnednnContextPtr &context);
std::unique_ptr<Kernel> onednn_kernel(const DenseOp &op, const Operands &operands,
                                      const OnednnContextPtr &context);
std::unique_ptr<Kernel> onednn_kernel(const DropoutOp &op, const Operands &operands,
                                      const OnednnContextPtr &context);
std::unique_ptr<Kernel> onednn_kernel(const GruOp &op, const Operands &operands,
                                      const OnednnContextPtr &context);
std::unique_ptr<Kernel> onednn_kernel(const LayerNormalizationOp &op, const Operands &operands,
                                      const OnednnContextPtr &context);
std::unique_ptr<Kernel> onednn_kernel(const LstmOp &op, const Operands &operands,
                                      const OnednnContextPtr &context);
std::unique_ptr<Kernel> onednn_kernel(const PoolingOp &op, const Operands &operands,
                                      const OnednnContextPtr &context);
std::unique_ptr<Kernel> onednn_kernel(const SimpleRnnOp &op, const Operands &operands,
                                      const OnednnContextPtr &context);
std::unique_ptr<Kernel> onednn_kernel(const SoftmaxOp &op, const Operands &operands,
                                      const OnednnContextPtr &context);
std::unique_ptr<Kernel> onednn_kernel(const SparseCrossEntropyOp &op, const Operands &operands,
                                      const OnednnContextPtr &context);
std::unique_ptr<Kernel> onednn_kernel(const TransposeOp &op, const Operands &operands,
                                      const OnednnContextPtr &context);

// oneDNN's name of it; dnnl::algorithm::undef where there is none.
dnnl::algorithm function_of(Activation activation);

// For all others.
template <class Op>
std::unique_ptr<Kernel> onednn_kernel(const Op &, const Operands &, const OnednnContextPtr &) {
  return nullptr;
}

}  // namespace det::nn
