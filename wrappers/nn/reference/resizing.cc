#include <algorithm>

#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

class PaddingKernel : public ReferenceKernel<PaddingOp> {
 public:
  using ReferenceKernel::ReferenceKernel;

  void forward() override {
    std::fill_n(output().data(), output().size(), 0.0F);
    for_each_kept(0, 0, 0, [&](size_t x, size_t y) { output().data()[y] = input(0).data()[x]; });
  }

  void backward() override {
    const Array &dx = input_gradient(0);
    std::fill_n(dx.data(), dx.size(), 0.0F);
    for_each_kept(0, 0, 0, [&](size_t x, size_t y) { dx.data()[x] = output_gradient().data()[y]; });
  }

 private:
  // visit(place in x, place in y) for what is in both, axis by axis.
  template <class Visit>
  void for_each_kept(size_t axis, size_t x, size_t y, const Visit &visit) const {
    const Shape &from = input(0).shape();
    const Shape &to = output().shape();
    if (axis == from.size()) return visit(x, y);
    const int64_t before = op_.before[axis];
    const int64_t end = std::min(from[axis], to[axis] - before);
    for (int64_t i = std::max<int64_t>(-before, 0); i < end; ++i)
      for_each_kept(axis + 1, x * static_cast<size_t>(from[axis]) + static_cast<size_t>(i),
                    y * static_cast<size_t>(to[axis]) + static_cast<size_t>(i + before), visit);
  }
};

class RepeatingKernel : public ReferenceKernel<RepeatingOp> {
 public:
  using ReferenceKernel::ReferenceKernel;

  void forward() override {
    for_each_copy([&](size_t x, size_t y) { output().data()[y] = input(0).data()[x]; });
  }

  void backward() override {
    const Array &dx = input_gradient(0);
    std::fill_n(dx.data(), dx.size(), 0.0F);
    for_each_copy([&](size_t x, size_t y) { dx.data()[x] += output_gradient().data()[y]; });
  }

 private:
  template <class Visit>
  void for_each_copy(const Visit &visit) const {
    const Shape &to = output().shape();
    const auto channels = static_cast<size_t>(to[3]);
    size_t y = 0;
    for (int64_t row = 0; row < to[0] * to[1]; ++row)
      for (int64_t column = 0; column < to[2]; ++column) {
        const int64_t pixel = row / op_.down * (to[2] / op_.across) + column / op_.across;
        for (size_t c = 0; c < channels; ++c, ++y)
          visit(static_cast<size_t>(pixel) * channels + c, y);
      }
  }
};

}  // namespace

std::unique_ptr<Kernel> reference_kernel(const PaddingOp &op, const Operands &operands) {
  return std::make_unique<PaddingKernel>(op, operands);
}

std::unique_ptr<Kernel> reference_kernel(const RepeatingOp &op, const Operands &operands) {
  return std::make_unique<RepeatingKernel>(op, operands);
}

}  // namespace det::nn
