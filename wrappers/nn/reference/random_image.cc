#include <algorithm>
#include <cmath>
#include <vector>

#include "wrappers/nn/operations/operations.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

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

class RandomImageKernel : public ReferenceKernel<RandomImageOp> {
 public:
  RandomImageKernel(const RandomImageOp &op, const Operands &operands)
      : ReferenceKernel(op, operands), drawn_(static_cast<size_t>(input(0).shape()[0])) {}

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
