// The normalization of rows: each by itself, as wide as the processor's vectors.
#include <algorithm>
#include <array>
#include <cmath>

#include "wrappers/nn/onednn/onednn_kernels.h"
#include "wrappers/nn/reference/reference_kernels.h"
#include "wrappers/nn/vectorised.h"

namespace det::nn {

namespace {

// Sums of double precision, eight at once: of long rows floats would lose what the last ones add.
using RowSums = std::array<double, 8>;

double total_of(RowSums &sums) {
  for (size_t width = sums.size() / 2; width > 0; width /= 2)
    for (size_t k = 0; k < width; ++k) sums[k] += sums[k + width];
  return sums[0];
}

DET_VECTORISED
void add_elements(RowSums &sums, const float *x, size_t length) {
  size_t i = 0;
  for (; i + sums.size() <= length; i += sums.size())
    for (size_t k = 0; k < sums.size(); ++k) sums[k] += static_cast<double>(x[i + k]);
  for (; i < length; ++i) sums[0] += static_cast<double>(x[i]);
}

DET_VECTORISED
void add_squares_about(RowSums &sums, const float *x, double mean, size_t length) {
  const auto square = [mean](float element) {
    const double off = static_cast<double>(element) - mean;
    return off * off;
  };
  size_t i = 0;
  for (; i + sums.size() <= length; i += sums.size())
    for (size_t k = 0; k < sums.size(); ++k) sums[k] += square(x[i + k]);
  for (; i < length; ++i) sums[0] += square(x[i]);
}

DET_VECTORISED
void add_element_products(RowSums &sums, const float *x, const float *y, size_t length) {
  size_t i = 0;
  for (; i + sums.size() <= length; i += sums.size())
    for (size_t k = 0; k < sums.size(); ++k) sums[k] += static_cast<double>(x[i + k] * y[i + k]);
  for (; i < length; ++i) sums[0] += static_cast<double>(x[i] * y[i]);
}

DET_VECTORISED
void normalize_row(const float *x, float mean, float inverse, float *normal, size_t length) {
  for (size_t i = 0; i < length; ++i) normal[i] = (x[i] - mean) * inverse;
}

DET_VECTORISED
void multiply_row(const float *x, const float *by, float *y, size_t length) {
  for (size_t i = 0; i < length; ++i) y[i] = x[i] * by[i];
}

DET_VECTORISED
void add_multiplied_row(const float *x, const float *by, float *y, size_t length) {
  for (size_t i = 0; i < length; ++i) y[i] += x[i] * by[i];
}

DET_VECTORISED
void turn_row_back(const float *gradient, const float *normal, float mean, float slope,
                   float inverse, float *dx, size_t length) {
  for (size_t i = 0; i < length; ++i) dx[i] = inverse * (gradient[i] - mean - normal[i] * slope);
}

class QuickLayerNormalization : public ReferenceKernel<LayerNormalizationOp> {
 public:
  QuickLayerNormalization(const LayerNormalizationOp &op, const Operands &operands)
      : ReferenceKernel(op, operands),
        length_(static_cast<size_t>(input(0).shape().back())),
        rows_(input(0).size() / length_),
        ones_(length_, 1.0F),
        normal_(length_),
        gradient_(length_),
        used_(rows_) {}

  void forward() override {
    for (size_t row = 0; row < rows_; ++row) {
      used_[row] = moments_of_row(row);
      float *y = output().data() + row * length_;
      normalize(row, normal_.data());
      if (op_.has_center) std::copy_n(input(inputs() - 1).data(), length_, y);
      else std::fill_n(y, length_, 0.0F);
      add_multiplied_row(normal_.data(), gamma(), y, length_);
    }
  }

  void backward() override {
    const Array dgamma = op_.has_scale ? input_gradient(1) : Array();
    const Array dbeta = op_.has_center ? input_gradient(inputs() - 1) : Array();
    for (const Array &array : {dgamma, dbeta})
      if (array) std::fill_n(array.data(), array.size(), 0.0F);
    for (size_t row = 0; row < rows_; ++row) {
      const float *dy = output_gradient().data() + row * length_;
      normalize(row, normal_.data());
      if (dgamma) add_multiplied_row(dy, normal_.data(), dgamma.data(), length_);
      if (dbeta) add_multiplied_row(dy, ones_.data(), dbeta.data(), length_);
      if (input_gradient(0)) turn_back_to(input_gradient(0).data() + row * length_, row, dy);
    }
  }

 private:
  struct Used {
    float mean, inverse;
  };

  const float *gamma() const { return op_.has_scale ? input(1).data() : ones_.data(); }
  const float *x_of(size_t row) const { return input(0).data() + row * length_; }
  double mean_of(RowSums &sums) const { return total_of(sums) / static_cast<double>(length_); }

  Used moments_of_row(size_t row) const {
    RowSums sums{}, squares{};
    add_elements(sums, x_of(row), length_);
    const double mean = mean_of(sums);
    add_squares_about(squares, x_of(row), mean, length_);
    const auto variance = static_cast<float>(mean_of(squares));
    return {static_cast<float>(mean), 1 / std::sqrt(variance + op_.epsilon)};
  }

  void normalize(size_t row, float *normal) const {
    normalize_row(x_of(row), used_[row].mean, used_[row].inverse, normal, length_);
  }

  // As through_moments() of the plain loops.
  void turn_back_to(float *dx, size_t row, const float *dy) {
    multiply_row(dy, gamma(), gradient_.data(), length_);
    RowSums sums{}, along{};
    add_elements(sums, gradient_.data(), length_);
    add_element_products(along, gradient_.data(), normal_.data(), length_);
    turn_row_back(gradient_.data(), normal_.data(), static_cast<float>(mean_of(sums)),
                  static_cast<float>(mean_of(along)), used_[row].inverse, dx, length_);
  }

  const size_t length_, rows_;
  const std::vector<float> ones_;
  std::vector<float> normal_, gradient_;  // of the row at hand
  std::vector<Used> used_;                // by forward(), for each row
};

}  // namespace

std::unique_ptr<Kernel> onednn_kernel(const LayerNormalizationOp &op, const Operands &operands,
                                      const OnednnContextPtr &) {
  if (operands.inputs.at(0).size() == 0) return nullptr;
  return std::make_unique<QuickLayerNormalization>(op, operands);
}

}  // namespace det::nn
