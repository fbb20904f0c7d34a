#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "wrappers/nn/cuda/cuda_kernels.h"
#include "wrappers/nn/cuda/gpu_loops.h"

namespace det::nn {

namespace {

void round_to_bf16(const CudaContext &context, const float *from, float *to, size_t count) {
  for_each(context, count,
           [=] DET_DEVICE(size_t i) { to[i] = __bfloat162float(__float2bfloat16_rn(from[i])); });
}

void round_to_half(const CudaContext &context, const float *from, float *to, size_t count) {
  for_each(context, count,
           [=] DET_DEVICE(size_t i) { to[i] = __half2float(__float2half_rn(from[i])); });
}

class RoundingKernel : public CudaKernel<RoundingOp> {
 public:
  using CudaKernel::CudaKernel;

  void forward() override { round(input(0), output()); }
  void backward() override { round(output_gradient(), input_gradient(0)); }

 private:
  void round(const Array &from, const Array &to) const {
    const auto round_all = op_.to == Dtype::bf16 ? round_to_bf16 : round_to_half;
    round_all(*context_, from.data(), to.data(), to.size());
  }
};

}  // namespace

std::unique_ptr<Kernel> cuda_kernel(const RoundingOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  return std::make_unique<RoundingKernel>(op, operands, context);
}

}  // namespace det::nn
