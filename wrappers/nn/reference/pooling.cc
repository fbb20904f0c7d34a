#include <algorithm>
#include <cmath>

#include "wrappers/nn/reference/reference_kernels.h"
#include "wrappers/nn/reference/window_walk.h"

namespace det::nn {

namespace {

class PoolingKernel : public OperationKernel<PoolingOp> {
 public:
  PoolingKernel(const PoolingOp &op, const Operands &operands)
      : OperationKernel(op, operands),
        channels_(static_cast<size_t>(output().shape()[3])),
        counts_(output().size()),
        largest_(op.pooling == Pooling::max ? output().size() : 0) {}

  void forward() override {
    const auto y = output().elements();
    std::fill(counts_.begin(), counts_.end(), 0);
    std::fill(y.begin(), y.end(), 0.0F);
    if (op_.pooling == Pooling::max) take_largest();
    else take_mean();
  }

  void backward() override {
    const auto dx = input_gradient(0).elements();
    const auto dy = output_gradient().elements();
    std::fill(dx.begin(), dx.end(), 0.0F);
    if (op_.pooling == Pooling::max) {
      for (size_t i = 0; i < dy.size(); ++i) dx[largest_[i]] += dy[i];
      return;
    }
    for_each_element([&](size_t y_at, size_t x_at) {
      dx[x_at] += dy[y_at] / static_cast<float>(counts_[y_at]);
    });
  }

 private:
  template <class Visit>
  void for_each_element(const Visit &visit) const {
    for_each_place(op_.window, input(0).shape(), output().shape(),
                   [&](size_t to, size_t from, size_t) {
                     for (size_t c = 0; c < channels_; ++c)
                       visit(to * channels_ + c, from * channels_ + c);
                   });
  }

  // NaN is larger than all numbers, so that it is not lost.
  void take_largest() {
    const float *x = input(0).data();
    float *y = output().data();
    for_each_element([&](size_t y_at, size_t x_at) {
      if (counts_[y_at]++ > 0 && !(x[x_at] > y[y_at] || std::isnan(x[x_at]))) return;
      y[y_at] = x[x_at];
      largest_[y_at] = x_at;
    });
  }

  void take_mean() {
    const auto y = output().elements();
    for_each_element([&](size_t y_at, size_t x_at) {
      y[y_at] += input(0).data()[x_at];
      ++counts_[y_at];
    });
    for (size_t i = 0; i < y.size(); ++i) y[i] /= static_cast<float>(counts_[i]);
  }

  const size_t channels_;
  std::vector<uint32_t> counts_;  // elements of the image in the window of each result
  std::vector<size_t> largest_;   // where each result is from
};

}  // namespace

std::unique_ptr<Kernel> reference_kernel(const PoolingOp &op, const Operands &operands) {
  return std::make_unique<PoolingKernel>(op, operands);
}

}  // namespace det::nn
