#include "wrappers/nn/cuda/cuda_kernels.h"
#include "wrappers/nn/cuda/rounded.h"
#include "wrappers/nn/cuda/sums.h"

namespace det::nn {

namespace {

// Where the elements of channels lie: (outer, channels, inner).
struct Channels {
  size_t channels, inner, rows;  // a row has one element of each channel

  DET_HOST_DEVICE size_t place(size_t row, size_t channel) const {
    return (row / inner * channels + channel) * inner + row % inner;
  }
  DET_HOST_DEVICE size_t channel_of(size_t i) const { return i / inner % channels; }
};

Channels channels_of(const Array &x, size_t axis) {
  size_t inner = 1;
  for (size_t i = axis + 1; i < x.shape().size(); ++i) inner *= static_cast<size_t>(x.shape()[i]);
  const auto channels = static_cast<size_t>(x.shape()[axis]);
  return {channels, std::max<size_t>(inner, 1), x.size() / std::max<size_t>(channels, 1)};
}

class BatchNormalizationKernel : public CudaKernel<BatchNormalizationOp> {
 public:
  BatchNormalizationKernel(const BatchNormalizationOp &op, const Operands &operands,
                           const CudaContextPtr &context)
      : CudaKernel(op, operands, context),
        channels_(channels_of(input(0), op.axis)),
        mean_(scratch(channels_.channels)),
        inverse_(scratch(channels_.channels)),
        of_gamma_(scratch(channels_.channels)),
        of_beta_(scratch(channels_.channels)),
        sums_(*context, channels_.rows, channels_.channels) {}

  void forward() override {
    if (op_.is_training) take_moments_of_batch();
    else take_moving_moments();
    const float *x = input(0).data();
    float *y = output().data();
    const float *mean = mean_.data();
    const float *inverse = inverse_.data();
    const float *gamma = this->gamma();
    const float *beta = op_.has_center ? input(op_.moving_mean() - 1).data() : nullptr;
    const Channels channels = channels_;
    for_each(*context_, output().size(), [=] DET_DEVICE(size_t i) {
      const size_t c = channels.channel_of(i);
      const float by = inverse[c] * (gamma != nullptr ? gamma[c] : 1);
      y[i] = (x[i] - mean[c]) * by + (beta != nullptr ? beta[c] : 0);
    });
  }

  void backward() override {
    const float *x = input(0).data();
    const float *dy = output_gradient().data();
    const float *mean = mean_.data();
    const float *inverse = inverse_.data();
    const Channels channels = channels_;
    float *of_gamma =
        op_.has_scale && input_gradient(1) ? input_gradient(1).data() : of_gamma_.data();
    const size_t center = op_.moving_mean() - 1;
    float *of_beta =
        op_.has_center && input_gradient(center) ? input_gradient(center).data() : of_beta_.data();
    sums_.run(
        [=] DET_DEVICE(size_t row, size_t c) {
          const size_t i = channels.place(row, c);
          return dy[i] * (x[i] - mean[c]) * inverse[c];
        },
        of_gamma);
    sums_.run([=] DET_DEVICE(size_t row, size_t c) { return dy[channels.place(row, c)]; }, of_beta);
    float *dx = data_or_null(input_gradient(0));
    if (dx == nullptr) return;
    const float *gamma = this->gamma();
    // Moving moments do not depend on x. Those of the batch do: what moves all of it alike, or by
    // what is normalized already, changes nothing.
    const float part = op_.is_training ? 1 / static_cast<float>(channels_.rows) : 0;
    for_each(*context_, output().size(), [=] DET_DEVICE(size_t i) {
      const size_t c = channels.channel_of(i);
      const float normalized = (x[i] - mean[c]) * inverse[c];
      const float gradient = dy[i] - part * (of_beta[c] + normalized * of_gamma[c]);
      dx[i] = inverse[c] * (gamma != nullptr ? gamma[c] : 1) * gradient;
    });
  }

  void take_moments_of_batch() const {
    const float *x = input(0).data();
    float *mean = mean_.data();
    float *inverse = inverse_.data();
    const Channels channels = channels_;
    const auto count = static_cast<float>(channels.rows);
    sums_.run([=] DET_DEVICE(size_t row, size_t c) { return x[channels.place(row, c)] / count; },
              mean);
    sums_.run(
        [=] DET_DEVICE(size_t row, size_t c) {
          const float off = x[channels.place(row, c)] - mean[c];
          return off * off / count;
        },
        inverse);
    const float unbiased = op_.is_unbiased ? count / std::max(count - 1, 1.0F) : 1;
    const float moved = 1 - op_.momentum;
    const float epsilon = op_.epsilon;
    float *moving_mean = input(op_.moving_mean()).data();
    float *moving_variance = input(op_.moving_mean() + 1).data();
    for_each(*context_, channels.channels, [=] DET_DEVICE(size_t c) {
      const float variance = inverse[c];
      moving_mean[c] -= (moving_mean[c] - mean[c]) * moved;
      moving_variance[c] -= (moving_variance[c] - variance * unbiased) * moved;
      inverse[c] = 1 / sqrtf(variance + epsilon);
    });
  }

  void take_moving_moments() const {
    float *mean = mean_.data();
    float *inverse = inverse_.data();
    const float *moving_mean = input(op_.moving_mean()).data();
    const float *moving_variance = input(op_.moving_mean() + 1).data();
    const float epsilon = op_.epsilon;
    for_each(*context_, channels_.channels, [=] DET_DEVICE(size_t c) {
      mean[c] = moving_mean[c];
      inverse[c] = 1 / sqrtf(moving_variance[c] + epsilon);
    });
  }

 private:
  const float *gamma() const { return op_.has_scale ? input(1).data() : nullptr; }

  const Channels channels_;
  const Array mean_, inverse_;      // by forward(), for each channel
  const Array of_gamma_, of_beta_;  // where nobody asks for them
  const ColumnSums sums_;
};

}  // namespace

std::unique_ptr<Kernel> cuda_kernel(const BatchNormalizationOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  if (op.has_mask || operands.outputs.at(0).size() == 0) return nullptr;
  return std::make_unique<BatchNormalizationKernel>(op, operands, context);
}

namespace {

class LayerNormalizationKernel : public CudaKernel<LayerNormalizationOp> {
 public:
  LayerNormalizationKernel(const LayerNormalizationOp &op, const Operands &operands,
                           const CudaContextPtr &context)
      : CudaKernel(op, operands, context),
        length_(static_cast<size_t>(input(0).shape().back())),
        rows_(input(0).size() / std::max<size_t>(length_, 1)),
        mean_(scratch(rows_)),
        inverse_(scratch(rows_)),
        sums_(*context, rows_, length_) {}

  void forward() override {
    const float *all_x = input(0).data();
    const Result y(operands_);
    float *means = mean_.data();
    float *inverses = inverse_.data();
    const float *gamma = this->gamma();
    const float *beta = op_.has_center ? input(inputs() - 1).data() : nullptr;
    const size_t length = length_;
    const float epsilon = op_.epsilon;
    for_each_row(*context_, rows_, length, [=] DET_DEVICE(const RowGroup &group, size_t row) {
      const float *x = all_x + row * length;
      const auto count = static_cast<float>(length);
      const float mean = group.sum(length, [&](size_t i) { return x[i]; }) / count;
      const float variance =
          group.sum(length, [&](size_t i) { return (x[i] - mean) * (x[i] - mean); }) / count;
      const float inverse = 1 / sqrtf(variance + epsilon);
      group.each(length, [&](size_t i) {
        y.write(row * length + i, (x[i] - mean) * inverse * (gamma != nullptr ? gamma[i] : 1) +
                                      (beta != nullptr ? beta[i] : 0));
      });
      if (!group.is_first()) return;
      means[row] = mean;
      inverses[row] = inverse;
    });
  }

  void backward() override {
    const float *x = input(0).data();
    const float *dy = output_gradient().data();
    const float *means = mean_.data();
    const float *inverses = inverse_.data();
    const size_t length = length_;
    if (float *dgamma = op_.has_scale ? data_or_null(input_gradient(1)) : nullptr)
      sums_.run(
          [=] DET_DEVICE(size_t row, size_t i) {
            return dy[row * length + i] * (x[row * length + i] - means[row]) * inverses[row];
          },
          dgamma);
    if (float *dbeta = op_.has_center ? data_or_null(input_gradient(inputs() - 1)) : nullptr)
      sums_.run([=] DET_DEVICE(size_t row, size_t i) { return dy[row * length + i]; }, dbeta);
    float *dx = data_or_null(input_gradient(0));
    if (dx == nullptr) return;
    const float *gamma = this->gamma();
    for_each_row(*context_, rows_, length, [=] DET_DEVICE(const RowGroup &group, size_t row) {
      const size_t first = row * length;
      const auto count = static_cast<float>(length);
      const auto gradient = [&](size_t i) {
        return dy[first + i] * (gamma != nullptr ? gamma[i] : 1);
      };
      const auto normalized = [&](size_t i) { return (x[first + i] - means[row]) * inverses[row]; };
      const float mean = group.sum(length, gradient) / count;
      const float slope =
          group.sum(length, [&](size_t i) { return gradient(i) * normalized(i); }) / count;
      group.each(length, [&](size_t i) {
        dx[first + i] = inverses[row] * (gradient(i) - mean - normalized(i) * slope);
      });
    });
  }

 private:
  const float *gamma() const { return op_.has_scale ? input(1).data() : nullptr; }

  const size_t length_, rows_;
  const Array mean_, inverse_;  // by forward(), for each row
  const ColumnSums sums_;
};

}  // namespace

std::unique_ptr<Kernel> cuda_kernel(const LayerNormalizationOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  return std::make_unique<LayerNormalizationKernel>(op, operands, context);
}

}  // namespace det::nn
