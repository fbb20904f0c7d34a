#include <algorithm>

#include "wrappers/nn/arithmetic/element_functions.h"
#include "wrappers/nn/reference/reference_kernels.h"
#include "wrappers/nn/reference/window_walk.h"

namespace det::nn {

namespace {

class ConvolutionKernel : public OperationKernel<ConvolutionOp> {
 public:
  ConvolutionKernel(const ConvolutionOp &op, const Operands &operands)
      : OperationKernel(op, operands),
        groups_(static_cast<size_t>(op.groups)),
        in_(static_cast<size_t>(input(1).shape()[2])),
        out_(static_cast<size_t>(input(1).shape()[3]) / groups_),
        sums_gradient_(output_gradient() ? output().size() : 0) {}

  void forward() override {
    const auto y = output().elements();
    const size_t channels = groups_ * out_;
    for (size_t i = 0; i < y.size(); ++i) y[i] = inputs() == 3 ? input(2).data()[i % channels] : 0;
    for_each_product([&](size_t y_at, size_t x_at, size_t kernel_at) {
      const float *kernel = input(1).data() + kernel_at;
      const float x = input(0).data()[x_at];
      for (size_t o = 0; o < out_; ++o) y[y_at + o] += x * kernel[o];
    });
    for (float &value : y) value = activate(op_.activation, value);
  }

  void backward() override {
    const auto y = output().elements();
    const auto dy = output_gradient().elements();
    for (size_t i = 0; i < y.size(); ++i)
      sums_gradient_[i] = dy[i] * derivative(op_.activation, 0, y[i]);
    if (input_gradient(0)) of_input(input_gradient(0).elements());
    if (input_gradient(1)) of_kernel(input_gradient(1).elements());
    if (inputs() == 3 && input_gradient(2)) of_bias(input_gradient(2).elements());
  }

 private:
  // visit(first y of a group, x, first kernel element) for each x that a window multiplies by a
  // row of the kernel.
  template <class Visit>
  void for_each_product(const Visit &visit) const {
    for_each_place(op_.window, input(0).shape(), output().shape(),
                   [&](size_t to, size_t from, size_t in_window) {
                     for (size_t g = 0; g < groups_; ++g)
                       for (size_t i = 0; i < in_; ++i)
                         visit((to * groups_ + g) * out_, (from * groups_ + g) * in_ + i,
                               ((in_window * in_ + i) * groups_ + g) * out_);
                   });
  }

  void of_input(std::span<float> dx) const {
    std::fill(dx.begin(), dx.end(), 0.0F);
    for_each_product([&](size_t y_at, size_t x_at, size_t kernel_at) {
      const float *kernel = input(1).data() + kernel_at;
      float sum = 0;
      for (size_t o = 0; o < out_; ++o) sum += sums_gradient_[y_at + o] * kernel[o];
      dx[x_at] += sum;
    });
  }

  void of_kernel(std::span<float> dkernel) const {
    std::fill(dkernel.begin(), dkernel.end(), 0.0F);
    for_each_product([&](size_t y_at, size_t x_at, size_t kernel_at) {
      const float x = input(0).data()[x_at];
      for (size_t o = 0; o < out_; ++o) dkernel[kernel_at + o] += x * sums_gradient_[y_at + o];
    });
  }

  void of_bias(std::span<float> dbias) const {
    std::fill(dbias.begin(), dbias.end(), 0.0F);
    for (size_t i = 0; i < sums_gradient_.size(); ++i) dbias[i % dbias.size()] += sums_gradient_[i];
  }

  const size_t groups_, in_, out_;    // the channels of one group
  std::vector<float> sums_gradient_;  // of x * kernel + bias
};

}  // namespace

std::unique_ptr<Kernel> reference_kernel(const ConvolutionOp &op, const Operands &operands) {
  return std::make_unique<ConvolutionKernel>(op, operands);
}

}  // namespace det::nn
