#include "wrappers/nn/cuda/cuda_kernels.h"
#include "wrappers/nn/cuda/rounded.h"

namespace det::nn {

namespace {

void round_all(const CudaContext &context, const Array &from, const Array &to, Dtype dtype) {
  const float *x = from.data();
  float *y = to.data();
  for_each(context, to.size(), [=] DET_DEVICE(size_t i) { y[i] = rounded(x[i], dtype); });
}

class RoundingKernel : public CudaKernel<RoundingOp> {
 public:
  using CudaKernel::CudaKernel;

  void forward() override { round_all(*context_, input(0), output(), op_.to); }
  void backward() override { round_all(*context_, output_gradient(), input_gradient(0), op_.to); }
};

}  // namespace

std::unique_ptr<Kernel> cuda_kernel(const RoundingOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  return std::make_unique<RoundingKernel>(op, operands, context);
}

}  // namespace det::nn
