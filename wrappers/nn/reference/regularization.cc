#include <cmath>

#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

class RegularizationKernel : public ReferenceKernel<RegularizationOp> {
 public:
  using ReferenceKernel::ReferenceKernel;

  void forward() override {
    double absolute = 0;
    double squares = 0;
    for (const float w : input(0).elements()) {
      absolute += static_cast<double>(std::fabs(w));
      squares += static_cast<double>(w) * static_cast<double>(w);
    }
    output().data()[0] = static_cast<float>(static_cast<double>(op_.regularizer.l1) * absolute +
                                            static_cast<double>(op_.regularizer.l2) * squares);
  }

  void backward() override {
    const float by = output_gradient().data()[0];
    const auto w = input(0).elements();
    const auto dw = input_gradient(0).elements();
    for (size_t i = 0; i < w.size(); ++i) {
      const float sign = w[i] > 0 ? 1 : w[i] < 0 ? -1 : 0;
      dw[i] = by * (op_.regularizer.l1 * sign + 2 * op_.regularizer.l2 * w[i]);
    }
  }
};

}  // namespace

std::unique_ptr<Kernel> reference_kernel(const RegularizationOp &op, const Operands &operands) {
  return std::make_unique<RegularizationKernel>(op, operands);
}

}  // namespace det::nn
