// The normalization of rows: each by itself, as wide as the processor's vectors.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/vectorised.h"
#include "wrappers/nn/arithmetic/row_arithmetic.h"
#include "wrappers/nn/onednn/onednn_kernels.h"
#include "wrappers/nn/onednn/shares.h"
#include "wrappers/nn/reference/reference_kernels.h"

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
void scale_row(const float *x, float mean, float inverse, const float *gamma, const float *beta,
               float *y, size_t length) {
  for (size_t i = 0; i < length; ++i) y[i] = beta[i] + (x[i] - mean) * inverse * gamma[i];
}

// From a row and the gradient of what became of it: its normal form, the gradient of that, and what
// both add to the gradients of gamma and beta.
DET_VECTORISED
void take_gradient_row(const float *x, const float *dy, const float *gamma, float mean,
                       float inverse, float *normal, float *gradient, float *dgamma, float *dbeta,
                       size_t length) {
  for (size_t i = 0; i < length; ++i) {
    normal[i] = (x[i] - mean) * inverse;
    gradient[i] = dy[i] * gamma[i];
    dgamma[i] += dy[i] * normal[i];
    dbeta[i] += dy[i];
  }
}

DET_VECTORISED
void turn_row_back(const float *gradient, const float *normal, float mean, float slope,
                   float inverse, float *dx, size_t length) {
  for (size_t i = 0; i < length; ++i) dx[i] = inverse * (gradient[i] - mean - normal[i] * slope);
}

class VectorisedLayerNormalization : public OperationKernel<LayerNormalizationOp> {
 public:
  VectorisedLayerNormalization(const LayerNormalizationOp &op, const Operands &operands,
                               const OnednnContext &context)
      : OperationKernel(op, operands),
        length_(static_cast<size_t>(input(0).shape().back())),
        rows_(input(0).size() / length_),
        shares_(shares_of(context, input(0).size())),
        ones_(length_, 1.0F),
        zeros_(length_, 0.0F),
        at_hand_(shares_, AtHand(length_)),
        used_(rows_) {}

  void forward() override {
    for_each_share(shares_, rows_, [&](size_t, size_t first, size_t end) {
      for (size_t row = first; row < end; ++row) {
        used_[row] = moments_of_row(row);
        scale_row(x_of(row), used_[row].mean, used_[row].inverse, gamma(), beta(),
                  output().data() + row * length_, length_);
      }
    });
  }

  void backward() override {
    for_each_share(shares_, rows_, [&](size_t share, size_t first, size_t end) {
      AtHand &hand = at_hand_[share];
      std::fill(hand.dgamma.begin(), hand.dgamma.end(), 0.0F);
      std::fill(hand.dbeta.begin(), hand.dbeta.end(), 0.0F);
      for (size_t row = first; row < end; ++row) turn_back_row(hand, row);
    });
    if (op_.has_scale) add_up(input_gradient(1), &AtHand::dgamma);
    if (op_.has_center) add_up(input_gradient(inputs() - 1), &AtHand::dbeta);
  }

 private:
  struct Used {
    float mean, inverse;
  };
  using Row = std::vector<float>;
  // Of one share: rows, and what its rows add to gradients.
  struct AtHand {
    explicit AtHand(size_t length)
        : normal(length), gradient(length), dgamma(length), dbeta(length) {}
    Row normal, gradient, dgamma, dbeta;
  };

  const float *gamma() const { return op_.has_scale ? input(1).data() : ones_.data(); }
  const float *beta() const { return op_.has_center ? input(inputs() - 1).data() : zeros_.data(); }
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

  // As through_moments() of the plain loops.
  void turn_back_row(AtHand &hand, size_t row) const {
    const float *dy = output_gradient().data() + row * length_;
    const auto [mean, inverse] = used_[row];
    RowSums sums{}, along{};
    take_gradient_row(x_of(row), dy, gamma(), mean, inverse, hand.normal.data(),
                      hand.gradient.data(), hand.dgamma.data(), hand.dbeta.data(), length_);
    if (!input_gradient(0)) return;
    add_elements(sums, hand.gradient.data(), length_);
    add_element_products(along, hand.gradient.data(), hand.normal.data(), length_);
    turn_row_back(hand.gradient.data(), hand.normal.data(), static_cast<float>(mean_of(sums)),
                  static_cast<float>(mean_of(along)), inverse,
                  input_gradient(0).data() + row * length_, length_);
  }

  void add_up(const Array &gradient, Row AtHand::*part) const {
    if (!gradient) return;
    std::copy_n((at_hand_[0].*part).data(), length_, gradient.data());
    for (size_t share = 1; share < shares_; ++share)
      add((at_hand_[share].*part).data(), gradient.data(), length_);
  }

  const size_t length_, rows_, shares_;
  const Row ones_, zeros_;
  std::vector<AtHand> at_hand_;
  std::vector<Used> used_;  // by forward(), for each row
};

}  // namespace

std::unique_ptr<Kernel> onednn_kernel(const LayerNormalizationOp &op, const Operands &operands,
                                      const OnednnContextPtr &context) {
  if (operands.inputs.at(0).size() == 0) return nullptr;
  return std::make_unique<VectorisedLayerNormalization>(op, operands, *context);
}

}  // namespace det::nn
