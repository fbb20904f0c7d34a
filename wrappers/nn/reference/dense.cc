#include <algorithm>

#include "wrappers/nn/arithmetic/element_functions.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

class DenseKernel : public OperationKernel<DenseOp> {
 public:
  DenseKernel(const DenseOp &op, const Operands &operands)
      : OperationKernel(op, operands),
        in_(static_cast<size_t>(input(1).shape()[0])),
        out_(static_cast<size_t>(input(1).shape()[1])),
        rows_(output().size() / std::max<size_t>(out_, 1)),
        sums_gradient_(output().size()) {}

  void forward() override {
    for (size_t row = 0; row < rows_; ++row) {
      float *y = output().data() + row * out_;
      const float *x = input(0).data() + row * in_;
      for (size_t o = 0; o < out_; ++o) y[o] = inputs() == 3 ? input(2).data()[o] : 0;
      for (size_t i = 0; i < in_; ++i) {
        const float *kernel = input(1).data() + i * out_;
        for (size_t o = 0; o < out_; ++o) y[o] += x[i] * kernel[o];
      }
      for (size_t o = 0; o < out_; ++o) y[o] = activate(op_.activation, y[o]);
    }
  }

  void backward() override {
    const auto y = output().elements();
    const auto dy = output_gradient().elements();
    for (size_t i = 0; i < y.size(); ++i)
      sums_gradient_[i] = dy[i] * derivative(op_.activation, 0, y[i]);
    if (input_gradient(0)) of_input(input_gradient(0).data());
    if (input_gradient(1)) of_kernel(input_gradient(1).elements());
    if (inputs() == 3 && input_gradient(2)) of_bias(input_gradient(2).elements());
  }

 private:
  void of_input(float *dx) const {
    for (size_t row = 0; row < rows_; ++row)
      for (size_t i = 0; i < in_; ++i) {
        float sum = 0;
        for (size_t o = 0; o < out_; ++o)
          sum += sums_gradient_[row * out_ + o] * input(1).data()[i * out_ + o];
        dx[row * in_ + i] = sum;
      }
  }

  void of_kernel(std::span<float> dkernel) const {
    std::fill(dkernel.begin(), dkernel.end(), 0.0F);
    for (size_t row = 0; row < rows_; ++row)
      for (size_t i = 0; i < in_; ++i) {
        const float x = input(0).data()[row * in_ + i];
        for (size_t o = 0; o < out_; ++o)
          dkernel[i * out_ + o] += x * sums_gradient_[row * out_ + o];
      }
  }

  void of_bias(std::span<float> dbias) const {
    std::fill(dbias.begin(), dbias.end(), 0.0F);
    for (size_t row = 0; row < rows_; ++row)
      for (size_t o = 0; o < out_; ++o) dbias[o] += sums_gradient_[row * out_ + o];
  }

  const size_t in_, out_, rows_;
  std::vector<float> sums_gradient_;  // of x . kernel + bias
};

}  // namespace

std::unique_ptr<Kernel> reference_kernel(const DenseOp &op, const Operands &operands) {
  return std::make_unique<DenseKernel>(op, operands);
}

}  // namespace det::nn
