// The normalization of a batch whose channels are last: all channels of a record at once. oneDNN's
// is 1.6 times as quick where channels fill its vectors (tests/bench/bench_nn_products), and takes
// four times as long where they do not.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/vectorised.h"
#include "wrappers/nn/onednn/onednn_kernels.h"
#include "wrappers/nn/onednn/shares.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

// Sums are of double precision: of many records floats would lose what the last ones add.
DET_VECTORISED
void add_to(double *sums, const float *x, size_t channels) {
  for (size_t c = 0; c < channels; ++c) sums[c] += static_cast<double>(x[c]);
}

DET_VECTORISED
void add_squares(double *sums, const float *x, const float *mean, size_t channels) {
  for (size_t c = 0; c < channels; ++c) {
    const double off = static_cast<double>(x[c]) - static_cast<double>(mean[c]);
    sums[c] += off * off;
  }
}

DET_VECTORISED
void add_off_products(double *sums, const float *dy, const float *x, const float *mean,
                      size_t channels) {
  for (size_t c = 0; c < channels; ++c)
    sums[c] += static_cast<double>(dy[c]) * static_cast<double>(x[c] - mean[c]);
}

DET_VECTORISED
void scale_and_shift(const float *x, const float *mean, const float *by, const float *beta,
                     float *y, size_t channels) {
  for (size_t c = 0; c < channels; ++c) y[c] = (x[c] - mean[c]) * by[c] + beta[c];
}

DET_VECTORISED
void turn_back(const float *dy, const float *x, const float *mean, const float *by,
               const float *shift, const float *slope, float *dx, size_t channels) {
  for (size_t c = 0; c < channels; ++c)
    dx[c] = by[c] * (dy[c] - shift[c] - (x[c] - mean[c]) * slope[c]);
}

class VectorisedBatchNormalization : public OperationKernel<BatchNormalizationOp> {
 public:
  VectorisedBatchNormalization(const BatchNormalizationOp &op, const Operands &operands,
                               const OnednnContext &context)
      : OperationKernel(op, operands),
        channels_(static_cast<size_t>(input(0).shape().back())),
        records_(input(0).size() / channels_),
        shares_(shares_of(context, input(0).size())),
        sums_(channels_),
        products_(channels_),
        parts_(shares_, {sums_, products_}) {
    for (auto *values : {&mean_, &inverse_, &by_, &beta_, &shift_, &slope_})
      values->resize(channels_);
  }

  void forward() override {
    find_moments();
    for (size_t c = 0; c < channels_; ++c) {
      by_[c] = inverse_[c] * gamma(c);
      beta_[c] = op_.has_center ? input(op_.moving_mean() - 1).data()[c] : 0;
    }
    for_each_record([&](Sums &, size_t at) {
      scale_and_shift(input(0).data() + at, mean_.data(), by_.data(), beta_.data(),
                      output().data() + at, channels_);
    });
  }

  void backward() override {
    for_each_record([&](Sums &sums, size_t at) {
      const float *dy = output_gradient().data() + at;
      add_to(sums[0].data(), dy, channels_);
      add_off_products(sums[1].data(), dy, input(0).data() + at, mean_.data(), channels_);
    });
    add_up(0, sums_);
    add_up(1, products_);
    const auto count = static_cast<double>(records_);
    for (size_t c = 0; c < channels_; ++c) {
      const auto inverse = static_cast<double>(inverse_[c]);
      if (op_.has_scale && input_gradient(1))
        input_gradient(1).data()[c] = static_cast<float>(products_[c] * inverse);
      if (op_.has_center && input_gradient(op_.moving_mean() - 1))
        input_gradient(op_.moving_mean() - 1).data()[c] = static_cast<float>(sums_[c]);
      shift_[c] = static_cast<float>(sums_[c] / count);
      slope_[c] = static_cast<float>(products_[c] / count * inverse * inverse);
    }
    if (!input_gradient(0)) return;
    for_each_record([&](Sums &, size_t at) {
      turn_back(output_gradient().data() + at, input(0).data() + at, mean_.data(), by_.data(),
                shift_.data(), slope_.data(), input_gradient(0).data() + at, channels_);
    });
  }

 private:
  using Sums = std::array<std::vector<double>, 2>;

  // visit(sums of the share, where the record begins)
  template <class Visit>
  void for_each_record(const Visit &visit) {
    for_each_share(shares_, records_, [&](size_t share, size_t first, size_t end) {
      Sums &sums = parts_[share];
      for (auto &part : sums) std::fill(part.begin(), part.end(), 0.0);
      for (size_t record = first; record < end; ++record) visit(sums, record * channels_);
    });
  }

  void add_up(size_t which, std::vector<double> &sums) const {
    sums = parts_[0][which];
    for (size_t share = 1; share < shares_; ++share)
      for (size_t c = 0; c < channels_; ++c) sums[c] += parts_[share][which][c];
  }

  float gamma(size_t c) const { return op_.has_scale ? input(1).data()[c] : 1; }

  // Those of the batch, towards which the moving ones go.
  void find_moments() {
    const auto count = static_cast<double>(records_);
    for_each_record(
        [&](Sums &sums, size_t at) { add_to(sums[0].data(), input(0).data() + at, channels_); });
    add_up(0, sums_);
    for (size_t c = 0; c < channels_; ++c) mean_[c] = static_cast<float>(sums_[c] / count);
    for_each_record([&](Sums &sums, size_t at) {
      add_squares(sums[1].data(), input(0).data() + at, mean_.data(), channels_);
    });
    add_up(1, products_);
    float *moving_mean = input(op_.moving_mean()).data();
    float *moving_variance = input(op_.moving_mean() + 1).data();
    const double unbiased = op_.is_unbiased ? std::max(count - 1, 1.0) : count;
    for (size_t c = 0; c < channels_; ++c) {
      const auto variance = static_cast<float>(products_[c] / count);
      inverse_[c] = 1 / std::sqrt(variance + op_.epsilon);
      moving_mean[c] -= (moving_mean[c] - mean_[c]) * (1 - op_.momentum);
      const auto of_moving = static_cast<float>(products_[c] / unbiased);
      moving_variance[c] -= (moving_variance[c] - of_moving) * (1 - op_.momentum);
    }
  }

  const size_t channels_, records_, shares_;
  std::vector<double> sums_, products_;
  std::vector<Sums> parts_;  // of both, of each share
  std::vector<float> mean_, inverse_, by_, beta_, shift_, slope_;
};

}  // namespace

std::unique_ptr<Kernel> onednn_kernel(const BatchNormalizationOp &op, const Operands &operands,
                                      const OnednnContextPtr &context) {
  const Array &x = operands.inputs.at(0);
  if (!op.is_training || op.has_mask || op.axis + 1 != x.shape().size() || x.size() == 0)
    return nullptr;
  return std::make_unique<VectorisedBatchNormalization>(op, operands, *context);
}

}  // namespace det::nn
