// Images made larger or smaller, and images changed by chance.
#include <algorithm>
#include <cmath>
#include <vector>

#include "wrappers/nn/operations/operations.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

class PaddingKernel : public OperationKernel<PaddingOp> {
 public:
  using OperationKernel::OperationKernel;

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

class RepeatingKernel : public OperationKernel<RepeatingOp> {
 public:
  using OperationKernel::OperationKernel;

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

class InterpolatingKernel : public OperationKernel<InterpolatingOp> {
 public:
  InterpolatingKernel(const InterpolatingOp &op, const Operands &operands)
      : OperationKernel(op, operands),
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

namespace {

// The place in an image of so many that one beyond its edges stands for.
float place_within(Beyond beyond, float at, int64_t size) {
  const auto length = static_cast<float>(size);
  switch (beyond) {
    case Beyond::constant:
      return at;
    case Beyond::nearest:
      break;
    case Beyond::reflected:
      at -= 2 * length * std::floor(at / (2 * length));
      if (at >= length) at = 2 * length - at - 1;
      break;
    case Beyond::wrapped:  // as TensorFlow counts how often
      if (size == 1) return 0;
      if (at < 0) at += length * (std::trunc(-at / (length - 1)) + 1);
      else if (at > length - 1) at -= length * std::trunc(at / (length - 1));
      break;
  }
  return std::clamp(at, 0.0F, length - 1);
}

class RandomImageKernel : public OperationKernel<RandomImageOp> {
 public:
  RandomImageKernel(const RandomImageOp &op, const Operands &operands)
      : OperationKernel(op, operands), drawn_(static_cast<size_t>(input(0).shape()[0])) {}

  void forward() override {
    const Shape &shape = input(0).shape();
    const DropoutDraws draws(op_.seed.value_or(operands_.state->seed), operands_.stream,
                             operands_.state->step);
    for (size_t n = 0; n < drawn_.size(); ++n) {
      const auto words = draws.words(n);
      drawn_[n] = op_.places(uniform_from(words[0]), uniform_from(words[1]), shape[1], shape[2]);
    }
    const auto y = output().elements();
    std::fill(y.begin(), y.end(), 0.0F);
    for_each_part(
        [&](size_t from, size_t to, float share) {
          for (size_t c = 0; c < channels(); ++c) y[to + c] += share * input(0).data()[from + c];
        },
        [&](size_t to, float share) {
          for (size_t c = 0; c < channels(); ++c) y[to + c] += share * op_.filling;
        });
  }

  void backward() override {
    const Array &dx = input_gradient(0);
    std::fill_n(dx.data(), dx.size(), 0.0F);
    for_each_part(
        [&](size_t from, size_t to, float share) {
          for (size_t c = 0; c < channels(); ++c)
            dx.data()[from + c] += share * output_gradient().data()[to + c];
        },
        [](size_t, float) {});
  }

 private:
  size_t channels() const { return static_cast<size_t>(input(0).shape()[3]); }

  // visit(pixel of x, pixel of y, how much of it), or for what is not of the image
  // fill(pixel of y, how much of it).
  template <class Visit, class Fill>
  void for_each_part(const Visit &visit, const Fill &fill) const {
    const Shape &shape = input(0).shape();
    size_t to = 0;
    for (size_t n = 0; n < drawn_.size(); ++n) {
      const ImagePlaces &at = drawn_[n];
      for (int64_t row = 0; row < shape[1]; ++row)
        for (int64_t column = 0; column < shape[2]; ++column, to += channels()) {
          const auto x = static_cast<float>(column), y = static_cast<float>(row);
          const float across = place_within(op_.beyond, at.xx * x + at.xy * y + at.x, shape[2]);
          const float down = place_within(op_.beyond, at.yx * x + at.yy * y + at.y, shape[1]);
          of_place(n, down, across, to, visit, fill);
        }
    }
  }

  template <class Visit, class Fill>
  void of_place(size_t record, float down, float across, size_t to, const Visit &visit,
                const Fill &fill) const {
    const Shape &shape = input(0).shape();
    const auto take = [&](float row, float column, float share) {
      if (share == 0) return;
      const bool is_within = row >= 0 && column >= 0 && row < static_cast<float>(shape[1]) &&
                             column < static_cast<float>(shape[2]);
      if (!is_within) return fill(to, share);
      const size_t line = record * static_cast<size_t>(shape[1]) + static_cast<size_t>(row);
      visit((line * static_cast<size_t>(shape[2]) + static_cast<size_t>(column)) * channels(), to,
            share);
    };
    if (op_.takes_nearest) return take(std::round(down), std::round(across), 1);
    const float top = std::floor(down), left = std::floor(across);
    const float below = down - top, right = across - left;
    take(top, left, (1 - below) * (1 - right));
    take(top, left + 1, (1 - below) * right);
    take(top + 1, left, below * (1 - right));
    take(top + 1, left + 1, below * right);
  }

  std::vector<ImagePlaces> drawn_;  // by forward()
};

}  // namespace

std::unique_ptr<Kernel> reference_kernel(const RandomImageOp &op, const Operands &operands) {
  return std::make_unique<RandomImageKernel>(op, operands);
}

}  // namespace det::nn
