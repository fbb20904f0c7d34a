#include <algorithm>
#include <cmath>
#include <vector>

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

class InterpolatingKernel : public ReferenceKernel<InterpolatingOp> {
 public:
  InterpolatingKernel(const InterpolatingOp &op, const Operands &operands)
      : ReferenceKernel(op, operands),
        rows_(neighbours(output().shape()[1], op.down)),
        columns_(neighbours(output().shape()[2], op.across)) {}

  void forward() override {
    std::fill_n(output().data(), output().size(), 0.0F);
    for_each_part([&](size_t x, size_t y, float share) {
      for (size_t c = 0; c < channels(); ++c)
        output().data()[y + c] += share * input(0).data()[x + c];
    });
  }

  void backward() override {
    const Array &dx = input_gradient(0);
    std::fill_n(dx.data(), dx.size(), 0.0F);
    for_each_part([&](size_t x, size_t y, float share) {
      for (size_t c = 0; c < channels(); ++c)
        dx.data()[x + c] += share * output_gradient().data()[y + c];
    });
  }

 private:
  // The two that a place is between, and the share of the second.
  struct Between {
    size_t first, second;
    float share;
  };

  static std::vector<Between> neighbours(int64_t size, int64_t times) {
    std::vector<Between> all;
    const int64_t last = size / times - 1;
    for (int64_t i = 0; i < size; ++i) {
      const float at = (static_cast<float>(i) + 0.5F) / static_cast<float>(times) - 0.5F;
      const auto below = static_cast<int64_t>(std::floor(at));
      all.push_back({static_cast<size_t>(std::clamp<int64_t>(below, 0, last)),
                     static_cast<size_t>(std::clamp<int64_t>(below + 1, 0, last)),
                     at - static_cast<float>(below)});
    }
    return all;
  }

  size_t channels() const { return static_cast<size_t>(output().shape()[3]); }

  // visit(pixel in x, pixel in y, how much of it)
  template <class Visit>
  void for_each_part(const Visit &visit) const {
    const Shape &from = input(0).shape();
    size_t y = 0;
    for (size_t n = 0; n < static_cast<size_t>(from[0]); ++n)
      for (const Between &row : rows_)
        for (const Between &column : columns_) {
          for (const auto &[i, i_share] :
               {std::pair(row.first, 1 - row.share), std::pair(row.second, row.share)})
            for (const auto &[j, j_share] : {std::pair(column.first, 1 - column.share),
                                             std::pair(column.second, column.share)})
              visit(((n * static_cast<size_t>(from[1]) + i) * static_cast<size_t>(from[2]) + j) *
                        channels(),
                    y, i_share * j_share);
          y += channels();
        }
  }

  const std::vector<Between> rows_, columns_;
};

}  // namespace

std::unique_ptr<Kernel> reference_kernel(const InterpolatingOp &op, const Operands &operands) {
  return std::make_unique<InterpolatingKernel>(op, operands);
}

std::unique_ptr<Kernel> reference_kernel(const PaddingOp &op, const Operands &operands) {
  return std::make_unique<PaddingKernel>(op, operands);
}

std::unique_ptr<Kernel> reference_kernel(const RepeatingOp &op, const Operands &operands) {
  return std::make_unique<RepeatingKernel>(op, operands);
}

}  // namespace det::nn
