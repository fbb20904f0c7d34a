#include "wrappers/nn/cuda/column_sums.h"
#include "wrappers/nn/cuda/cuda_kernels.h"
#include "wrappers/nn/cuda/rounded.h"

namespace det::nn {

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
