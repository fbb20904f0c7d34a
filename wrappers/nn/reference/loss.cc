#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "wrappers/nn/arithmetic/loss_arithmetic.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

class SparseCrossEntropyKernel : public OperationKernel<SparseCrossEntropyOp> {
 public:
  SparseCrossEntropyKernel(const SparseCrossEntropyOp &op, const Operands &operands)
      : OperationKernel(op, operands),
        classes_(static_cast<size_t>(input(0).shape().back())),
        rows_(input(1).size()) {}

  void forward() override {
    double sum = 0;
    for (size_t row = 0; row < rows_; ++row) {
      const float *x = input(0).data() + row * classes_;
      const int32_t label = input(1).data<int32_t>()[row];
      if (!is_class(label)) sum = std::numeric_limits<double>::quiet_NaN();
      else sum += static_cast<double>(weight(row) * (log_sum_exp(x, classes_) - x[label]));
    }
    output().data()[0] = static_cast<float>(sum / static_cast<double>(rows_));
  }

  void backward() override {
    const float scale = output_gradient().data()[0] / static_cast<float>(rows_);
    for (size_t row = 0; row < rows_; ++row) {
      const float *x = input(0).data() + row * classes_;
      float *dx = input_gradient(0).data() + row * classes_;
      const float log_of_sum = log_sum_exp(x, classes_);
      const float by = scale * weight(row);
      for (size_t i = 0; i < classes_; ++i) dx[i] = by * std::exp(x[i] - log_of_sum);
      const int32_t label = input(1).data<int32_t>()[row];
      if (is_class(label)) dx[label] -= by;
    }
  }

 private:
  float weight(size_t row) const { return inputs() == 3 ? input(2).data()[row] : 1; }
  bool is_class(int32_t label) const { return label >= 0 && static_cast<size_t>(label) < classes_; }

  const size_t classes_, rows_;
};

}  // namespace

std::unique_ptr<Kernel> reference_kernel(const SparseCrossEntropyOp &op, const Operands &operands) {
  return std::make_unique<SparseCrossEntropyKernel>(op, operands);
}

// Losses of rows: of a vector each, or of probabilities and a label.

namespace {

// What the losses of rows share: the rows, and how much each counts.
template <class Op>
class RowKernel : public OperationKernel<Op> {
 public:
  RowKernel(const Op &op, const Operands &operands)
      : OperationKernel<Op>(op, operands),
        length_(static_cast<size_t>(this->input(0).shape().back())),
        rows_(this->input(0).size() / std::max<size_t>(length_, 1)),
        rows_of_weight_(this->inputs() == 3 ? rows_ / std::max<size_t>(this->input(2).size(), 1)
                                            : 1) {}

 protected:
  float weight(size_t row) const {
    return this->inputs() == 3 ? this->input(2).data()[row / rows_of_weight_] : 1;
  }
  const float *prediction(size_t row) const { return this->input(0).data() + row * length_; }
  float *gradient(size_t row) const { return this->input_gradient(0).data() + row * length_; }
  float divided_by(size_t rows) const {
    return this->op_.is_sum ? 1 : 1 / static_cast<float>(std::max<size_t>(rows, 1));
  }

  const size_t length_, rows_, rows_of_weight_;
};

class LossKernel : public RowKernel<LossOp> {
 public:
  using RowKernel::RowKernel;

  void forward() override {
    const LossFunction function = now();
    double sum = 0;
    for (size_t row = 0; row < rows_; ++row)
      sum +=
          static_cast<double>(weight(row)) * function.value(prediction(row), truth(row), length_);
    output().data()[0] = static_cast<float>(sum * static_cast<double>(divided_by(rows_)));
  }

  void backward() override {
    const LossFunction function = now();
    const float factor = output_gradient().data()[0] * divided_by(rows_);
    for (size_t row = 0; row < rows_; ++row)
      function.differentiate(prediction(row), truth(row), length_, factor * weight(row),
                             gradient(row));
  }

 private:
  const float *truth(size_t row) const { return input(1).data() + row * length_; }

  LossFunction now() const {
    LossFunction function = op_.function;
    if (function.kind == LossKind::hinge || function.kind == LossKind::squared_hinge)
      function.has_binary_truth = is_binary(input(1).data(), input(1).size());
    return function;
  }
};

// Logits are taken as they are, and of probabilities the logarithm: what a softmax makes of both is
// as good as what went in.
class SparseLossKernel : public RowKernel<SparseLossOp> {
 public:
  SparseLossKernel(const SparseLossOp &op, const Operands &operands)
      : RowKernel(op, operands), logits_(length_) {}

  void forward() override {
    double sum = 0;
    for (size_t row = 0; row < rows_; ++row) {
      if (is_ignored(row)) continue;
      const int32_t label = this->label(row);
      const bool is_class = label >= 0 && static_cast<size_t>(label) < length_;
      sum += static_cast<double>(weight(row)) *
             (is_class ? sparse_crossentropy(prediction(row), length_, static_cast<size_t>(label),
                                             op_.from_logits)
                       : std::nan(""));
    }
    output().data()[0] = static_cast<float>(sum * static_cast<double>(divided_by(counted())));
  }

  void backward() override {
    const float factor = output_gradient().data()[0] * divided_by(counted());
    for (size_t row = 0; row < rows_; ++row) {
      float *dx = gradient(row);
      std::fill_n(dx, length_, 0.0F);
      if (is_ignored(row)) continue;
      const float by = factor * weight(row);
      const float log_of_sum = read(row);
      for (size_t i = 0; i < length_; ++i) {
        const bool is_label = static_cast<int64_t>(i) == label(row);
        const float slope = std::exp(logits_[i] - log_of_sum) - (is_label ? 1.0F : 0.0F);
        dx[i] = by * slope * slope_of_logit(prediction(row)[i]);
      }
    }
  }

 private:
  int32_t label(size_t row) const { return input(1).data<int32_t>()[row]; }
  bool is_ignored(size_t row) const {
    return op_.ignored_label && label(row) == *op_.ignored_label;
  }
  size_t counted() const {
    size_t rows = 0;
    for (size_t row = 0; row < rows_; ++row) rows += is_ignored(row) ? 0 : 1;
    return rows;
  }

  float slope_of_logit(float x) const {
    if (op_.from_logits) return 1;
    return loss_arithmetic::is_clipped(x) ? 0 : 1 / x;
  }

  // Gives the logarithm of the sum of the powers of the logits.
  float read(size_t row) {
    const float *x = prediction(row);
    for (size_t i = 0; i < length_; ++i)
      logits_[i] = op_.from_logits ? x[i] : std::log(loss_arithmetic::clipped(x[i]));
    return log_sum_exp(logits_.data(), length_);
  }

  std::vector<float> logits_;
};

}  // namespace

std::unique_ptr<Kernel> reference_kernel(const LossOp &op, const Operands &operands) {
  return std::make_unique<LossKernel>(op, operands);
}

std::unique_ptr<Kernel> reference_kernel(const SparseLossOp &op, const Operands &operands) {
  return std::make_unique<SparseLossKernel>(op, operands);
}

namespace {

class RegularizationKernel : public OperationKernel<RegularizationOp> {
 public:
  using OperationKernel::OperationKernel;

  void forward() override {
    double absolute = 0;
    double squares = 0;
    for (const float w : input(0).elements()) {
      absolute += static_cast<double>(std::fabs(w));
      squares += static_cast<double>(w) * static_cast<double>(w);
    }
    output().data()[0] = static_cast<float>(static_cast<double>(op_.regularizer.l1) * absolute +
                                            static_cast<double>(op_.regularizer.l2) * squares);
  }

  void backward() override {
    const float by = output_gradient().data()[0];
    const auto w = input(0).elements();
    const auto dw = input_gradient(0).elements();
    for (size_t i = 0; i < w.size(); ++i) {
      const float sign = w[i] > 0 ? 1 : w[i] < 0 ? -1 : 0;
      dw[i] = by * (op_.regularizer.l1 * sign + 2 * op_.regularizer.l2 * w[i]);
    }
  }
};

}  // namespace

std::unique_ptr<Kernel> reference_kernel(const RegularizationOp &op, const Operands &operands) {
  return std::make_unique<RegularizationKernel>(op, operands);
}

}  // namespace det::nn
