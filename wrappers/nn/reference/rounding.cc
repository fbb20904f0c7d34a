#include "core/base/half.h"
#include "core/base/vectorised.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

DET_VECTORISED
void round_to_bf16(const float *from, float *to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = from_bf16(to_bf16(from[i]));
}

DET_VECTORISED
void round_to_half(const float *from, float *to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = from_half(to_half(from[i]));
}

class RoundingKernel : public ReferenceKernel<RoundingOp> {
 public:
  using ReferenceKernel::ReferenceKernel;

  void forward() override { round(input(0), output()); }
  void backward() override { round(output_gradient(), input_gradient(0)); }

 private:
  void round(const Array &from, const Array &to) const {
    const auto round_all = op_.to == Dtype::bf16 ? round_to_bf16 : round_to_half;
    round_all(from.data(), to.data(), to.size());
  }
};

}  // namespace

std::unique_ptr<Kernel> reference_kernel(const RoundingOp &op, const Operands &operands) {
  return std::make_unique<RoundingKernel>(op, operands);
}

}  // namespace det::nn
