#include <algorithm>
#include <cmath>

#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

// What is normalized together: `count` elements, which share no other mean.
struct NormalizedGroup {
  size_t first;
  size_t runs, run_step;         // begin so far from each other
  size_t run_length, run_place;  // elements of a run, and how far they are from each other

  size_t count() const { return runs * run_length; }
  template <class Visit>
  void for_each(const Visit &visit) const {
    for (size_t run = 0; run < runs; ++run)
      for (size_t i = 0; i < run_length; ++i) visit(first + run * run_step + i * run_place);
  }
};

struct MeanAndVariance {
  float mean = 0;
  float variance = 0;
};

// How much each element counts among those of its group.
float counts_fully(size_t) { return 1; }

// A step counts with all of its features, or not at all.
struct StepsThatCount {
  const float *mask;
  size_t features;
  float operator()(size_t i) const { return mask[i / features]; }
};

template <class Weight>
double weight_of(const NormalizedGroup &group, const Weight &weight) {
  double sum = 0;
  group.for_each([&](size_t i) { sum += static_cast<double>(weight(i)); });
  return sum;
}

template <class Weight>
MeanAndVariance moments_of(const Array &x, const NormalizedGroup &group, const Weight &weight) {
  const double count = weight_of(group, weight);
  double sum = 0;
  group.for_each([&](size_t i) { sum += static_cast<double>(weight(i) * x.data()[i]); });
  const double mean = sum / count;
  double squares = 0;
  group.for_each([&](size_t i) {
    const double off = static_cast<double>(x.data()[i]) - mean;
    squares += static_cast<double>(weight(i)) * off * off;
  });
  return {static_cast<float>(mean), static_cast<float>(squares / count)};
}

// dx of dy, where the moments are those of the group itself: what moves them all alike, or by what
// is normalized already, changes nothing.
template <class Weight, class WithGamma>
void through_moments(const Array &dx, const NormalizedGroup &group, float inverse,
                     const Weight &weight, const WithGamma &gradient_and_normalized) {
  const double count = weight_of(group, weight);
  double sum = 0;
  double along = 0;
  group.for_each([&](size_t i) {
    const auto [gradient, normalized] = gradient_and_normalized(i);
    sum += static_cast<double>(gradient);
    along += static_cast<double>(gradient * normalized);
  });
  const auto mean = static_cast<float>(sum / count);
  const auto slope = static_cast<float>(along / count);
  group.for_each([&](size_t i) {
    const auto [gradient, normalized] = gradient_and_normalized(i);
    dx.data()[i] = inverse * (gradient - weight(i) * mean - normalized * (weight(i) * slope));
  });
}

class BatchNormalizationKernel : public OperationKernel<BatchNormalizationOp> {
 public:
  BatchNormalizationKernel(const BatchNormalizationOp &op, const Operands &operands)
      : OperationKernel(op, operands), channels_(size_of(op.axis, op.axis + 1)) {
    used_.resize(channels_);
  }

  void forward() override {
    for (size_t c = 0; c < channels_; ++c) {
      const NormalizedGroup group = group_of(c);
      if (group.count() == 0) continue;
      if (!op_.is_training) used_[c] = {moving_mean(c), moving_variance(c)};
      else if (op_.has_mask) used_[c] = moments_of(input(0), group, masked());
      else used_[c] = moments_of(input(0), group, counts_fully);
      if (op_.is_training) move(c, group.count());
      const float by = inverse(c) * gamma(c);
      const float beta = op_.has_center ? input(op_.moving_mean() - 1).data()[c] : 0;
      group.for_each(
          [&](size_t i) { output().data()[i] = (input(0).data()[i] - used_[c].mean) * by + beta; });
    }
  }

  void backward() override {
    for (size_t c = 0; c < channels_; ++c) {
      const NormalizedGroup group = group_of(c);
      const auto normalized = [&](size_t i) {
        return (input(0).data()[i] - used_[c].mean) * inverse(c);
      };
      double of_gamma = 0;
      double of_beta = 0;
      group.for_each([&](size_t i) {
        const float dy = output_gradient().data()[i];
        of_beta += static_cast<double>(dy);
        of_gamma += static_cast<double>(dy * normalized(i));
      });
      if (op_.has_scale && input_gradient(1))
        input_gradient(1).data()[c] = static_cast<float>(of_gamma);
      if (op_.has_center && input_gradient(op_.moving_mean() - 1))
        input_gradient(op_.moving_mean() - 1).data()[c] = static_cast<float>(of_beta);
      const Array &dx = input_gradient(0);
      if (!dx || group.count() == 0) continue;
      const float by = gamma(c);
      const auto with_gamma = [&](size_t i) {
        return std::pair(output_gradient().data()[i] * by, normalized(i));
      };
      if (op_.has_mask) through_moments(dx, group, inverse(c), masked(), with_gamma);
      else if (op_.is_training) through_moments(dx, group, inverse(c), counts_fully, with_gamma);
      else
        group.for_each(
            [&](size_t i) { dx.data()[i] = output_gradient().data()[i] * by * inverse(c); });
    }
  }

 private:
  // The product of the sizes of some axes.
  size_t size_of(size_t begin, size_t end) const {
    size_t size = 1;
    for (size_t axis = begin; axis < end; ++axis)
      size *= static_cast<size_t>(input(0).shape()[axis]);
    return size;
  }
  NormalizedGroup group_of(size_t channel) const {
    const size_t inner = size_of(op_.axis + 1, input(0).shape().size());
    return {channel * inner, size_of(0, op_.axis), channels_ * inner, inner, 1};
  }
  StepsThatCount masked() const {
    return {input(inputs() - 1).data(), static_cast<size_t>(input(0).shape().back())};
  }
  void move(size_t c, size_t count) {
    const auto n = static_cast<float>(count);
    const float unbiased = op_.is_unbiased ? n / std::max(n - 1, 1.0F) : 1;
    float &mean = moving_mean(c);
    float &variance = moving_variance(c);
    mean -= (mean - used_[c].mean) * (1 - op_.momentum);
    variance -= (variance - used_[c].variance * unbiased) * (1 - op_.momentum);
  }
  float &moving_mean(size_t c) const { return input(op_.moving_mean()).data()[c]; }
  float &moving_variance(size_t c) const { return input(op_.moving_mean() + 1).data()[c]; }
  float gamma(size_t c) const { return op_.has_scale ? input(1).data()[c] : 1; }
  float inverse(size_t c) const { return 1 / std::sqrt(used_[c].variance + op_.epsilon); }

  const size_t channels_;
  std::vector<MeanAndVariance> used_;  // by forward(), for each channel
};

class LayerNormalizationKernel : public OperationKernel<LayerNormalizationOp> {
 public:
  LayerNormalizationKernel(const LayerNormalizationOp &op, const Operands &operands)
      : OperationKernel(op, operands),
        length_(static_cast<size_t>(input(0).shape().back())),
        rows_(input(0).size() / std::max<size_t>(length_, 1)),
        used_(rows_) {}

  void forward() override {
    for (size_t row = 0; row < rows_; ++row) {
      const auto [mean, variance] = moments_of(input(0), group_of(row), counts_fully);
      used_[row] = {mean, 1 / std::sqrt(variance + op_.epsilon)};
      for (size_t i = 0; i < length_; ++i)
        output().data()[row * length_ + i] = normalized(row, i) * gamma(i) + beta(i);
    }
  }

  void backward() override {
    const Array dgamma = op_.has_scale ? input_gradient(1) : Array();
    const Array dbeta = op_.has_center ? input_gradient(inputs() - 1) : Array();
    for (const Array &array : {dgamma, dbeta})
      if (array) std::fill_n(array.data(), array.size(), 0.0F);
    for (size_t row = 0; row < rows_; ++row) {
      const float *dy = output_gradient().data() + row * length_;
      for (size_t i = 0; dgamma && i < length_; ++i) dgamma.data()[i] += dy[i] * normalized(row, i);
      for (size_t i = 0; dbeta && i < length_; ++i) dbeta.data()[i] += dy[i];
      if (input_gradient(0))
        through_moments(input_gradient(0), group_of(row), used_[row].inverse, counts_fully,
                        [&](size_t at) {
                          const size_t i = at - row * length_;
                          return std::pair(dy[i] * gamma(i), normalized(row, i));
                        });
    }
  }

 private:
  NormalizedGroup group_of(size_t row) const { return {row * length_, 1, 0, length_, 1}; }
  float normalized(size_t row, size_t i) const {
    return (input(0).data()[row * length_ + i] - used_[row].mean) * used_[row].inverse;
  }
  float gamma(size_t i) const { return op_.has_scale ? input(1).data()[i] : 1; }
  float beta(size_t i) const { return op_.has_center ? input(inputs() - 1).data()[i] : 0; }

  struct Used {
    float mean, inverse;
  };

  const size_t length_, rows_;
  std::vector<Used> used_;  // by forward(), for each row
};

}  // namespace

std::unique_ptr<Kernel> reference_kernel(const BatchNormalizationOp &op, const Operands &operands) {
  return std::make_unique<BatchNormalizationKernel>(op, operands);
}

std::unique_ptr<Kernel> reference_kernel(const LayerNormalizationOp &op, const Operands &operands) {
  return std::make_unique<LayerNormalizationKernel>(op, operands);
}

}  // namespace det::nn
