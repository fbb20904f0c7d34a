#include "wrappers/nn/cuda/cuda_kernels.h"
#include "wrappers/nn/cuda/gpu_loops.h"
#include "wrappers/nn/cuda/total.h"

namespace det::nn {

namespace {

class RegularizationKernel : public CudaKernel<RegularizationOp> {
 public:
  RegularizationKernel(const RegularizationOp &op, const Operands &operands,
                       const CudaContextPtr &context)
      : CudaKernel(op, operands, context), total_(*context, input(0).size()) {}

  void forward() override {
    const float *w = input(0).data();
    const Regularizer by = op_.regularizer;
    total_.run([=] DET_DEVICE(size_t i) { return by.l1 * fabsf(w[i]) + by.l2 * w[i] * w[i]; },
               output().data());
  }

  void backward() override {
    const float *w = input(0).data();
    const float *by = output_gradient().data();
    float *dw = input_gradient(0).data();
    const Regularizer regularizer = op_.regularizer;
    for_each(*context_, input(0).size(), [=] DET_DEVICE(size_t i) {
      const float sign = w[i] > 0 ? 1 : w[i] < 0 ? -1 : 0;
      dw[i] = by[0] * (regularizer.l1 * sign + 2 * regularizer.l2 * w[i]);
    });
  }

 private:
  const Total total_;
};

}  // namespace

std::unique_ptr<Kernel> cuda_kernel(const RegularizationOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  return std::make_unique<RegularizationKernel>(op, operands, context);
}

}  // namespace det::nn
