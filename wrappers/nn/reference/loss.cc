#include <cmath>
#include <limits>

#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

class SparseCrossEntropyKernel : public ReferenceKernel<SparseCrossEntropyOp> {
 public:
  SparseCrossEntropyKernel(const SparseCrossEntropyOp &op, const Operands &operands)
      : ReferenceKernel(op, operands),
        classes_(static_cast<size_t>(input(0).shape().back())),
        rows_(input(1).size()) {}

  void forward() override {
    double sum = 0;
    for (size_t row = 0; row < rows_; ++row) {
      const float *x = input(0).data() + row * classes_;
      const int32_t label = input(1).data<int32_t>()[row];
      if (!is_class(label)) sum = std::numeric_limits<double>::quiet_NaN();
      else sum += static_cast<double>(weight(row) * (log_sum_exp(x, classes_) - x[label]));
    }
    output().data()[0] = static_cast<float>(sum / static_cast<double>(rows_));
  }

  void backward() override {
    const float scale = output_gradient().data()[0] / static_cast<float>(rows_);
    for (size_t row = 0; row < rows_; ++row) {
      const float *x = input(0).data() + row * classes_;
      float *dx = input_gradient(0).data() + row * classes_;
      const float log_of_sum = log_sum_exp(x, classes_);
      const float by = scale * weight(row);
      for (size_t i = 0; i < classes_; ++i) dx[i] = by * std::exp(x[i] - log_of_sum);
      const int32_t label = input(1).data<int32_t>()[row];
      if (is_class(label)) dx[label] -= by;
    }
  }

 private:
  float weight(size_t row) const { return inputs() == 3 ? input(2).data()[row] : 1; }
  bool is_class(int32_t label) const { return label >= 0 && static_cast<size_t>(label) < classes_; }

  const size_t classes_, rows_;
};

}  // namespace

std::unique_ptr<Kernel> reference_kernel(const SparseCrossEntropyOp &op, const Operands &operands) {
  return std::make_unique<SparseCrossEntropyKernel>(op, operands);
}

}  // namespace det::nn
