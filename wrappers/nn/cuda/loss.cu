// Losses of rows: of a vector each, or of probabilities and a label.
#include "wrappers/nn/arithmetic/loss_arithmetic.h"
#include "wrappers/nn/cuda/cuda_kernels.h"
#include "wrappers/nn/cuda/gpu_loops.h"
#include "wrappers/nn/cuda/sums.h"

namespace det::nn {

namespace {

// How much a row counts: as its record does, or 1.
struct RowWeights {
  const float *weights;
  size_t rows_of_weight;

  DET_HOST_DEVICE float of(size_t row) const {
    return weights != nullptr ? weights[row / rows_of_weight] : 1;
  }
};

template <class Op>
class RowLossKernel : public CudaKernel<Op> {
 public:
  RowLossKernel(const Op &op, const Operands &operands, const CudaContextPtr &context)
      : CudaKernel<Op>(op, operands, context),
        length_(static_cast<size_t>(this->input(0).shape().back())),
        rows_(this->input(0).size() / std::max<size_t>(length_, 1)),
        weights_(weights_of(operands, rows_)),
        values_(this->scratch(rows_)),
        total_(*context, rows_) {}

 protected:
  static RowWeights weights_of(const Operands &operands, size_t rows) {
    if (operands.inputs.size() < 3) return {nullptr, 1};
    const Array &weights = operands.inputs[2];
    return {weights.data(), rows / std::max<size_t>(weights.size(), 1)};
  }

  const size_t length_, rows_;
  const RowWeights weights_;
  const Array values_;  // of each row
  const Total total_;
};

// The losses of rows; that of a hinge has to know all labels first.
struct VectorRows {
  const float *x, *truth;
  size_t length;
  LossFunction function;
  const float *others;  // how many labels are neither 0 nor 1, if that counts

  DET_HOST_DEVICE double compute(size_t row, float factor, float *gradient) const {
    LossFunction now = function;
    if (others != nullptr) now.has_binary_truth = *others == 0;
    const loss_arithmetic::RowFunction of(now, x + row * length, truth + row * length, length);
    return of.compute(factor, gradient);
  }
};

class LossKernel : public RowLossKernel<LossOp> {
 public:
  LossKernel(const LossOp &op, const Operands &operands, const CudaContextPtr &context)
      : RowLossKernel(op, operands, context),
        others_(is_hinge(op) ? scratch(1) : Array()),
        not_binary_(*context, input(1).size()),
        part_(op.is_sum ? 1 : 1 / static_cast<float>(std::max<size_t>(rows_, 1))) {}

  void forward() override {
    const float *truth = input(1).data();
    // Labels of a hinge that are all 0 and 1 are read as -1 and 1.
    if (others_)
      not_binary_.run(
          [=] DET_DEVICE(size_t i) { return truth[i] == 0 || truth[i] == 1 ? 0.0F : 1.0F; },
          others_.data());
    float *values = values_.data();
    const VectorRows rows = rows_of_inputs();
    const RowWeights weights = weights_;
    for_each(*context_, rows_, [=] DET_DEVICE(size_t row) {
      values[row] = weights.of(row) * static_cast<float>(rows.compute(row, 0, nullptr));
    });
    const float part = part_;
    total_.run([=] DET_DEVICE(size_t row) { return values[row] * part; }, output().data());
  }

  void backward() override {
    const float *dy = output_gradient().data();
    float *dx = input_gradient(0).data();
    const VectorRows rows = rows_of_inputs();
    const RowWeights weights = weights_;
    const float part = part_;
    for_each(*context_, rows_, [=] DET_DEVICE(size_t row) {
      rows.compute(row, *dy * part * weights.of(row), dx + row * rows.length);
    });
  }

 private:
  static bool is_hinge(const LossOp &op) {
    return op.function.kind == LossKind::hinge || op.function.kind == LossKind::squared_hinge;
  }
  VectorRows rows_of_inputs() const {
    return {input(0).data(), input(1).data(), length_, op_.function, data_or_null(others_)};
  }

  const Array others_;  // of a hinge: how many labels are neither 0 nor 1
  const Total not_binary_;
  const float part_;
};

// Reads a row as logits, or as probabilities, of which what a softmax makes of their logarithms is
// the share.
struct Shares {
  bool from_logits;

  DET_HOST_DEVICE float weight(float x, float largest) const {
    return from_logits ? expf(x - largest) : loss_arithmetic::clipped(x);
  }
  DET_HOST_DEVICE float entropy(float x, float largest, float sum) const {
    return from_logits ? largest + logf(sum) - x : logf(sum) - logf(loss_arithmetic::clipped(x));
  }
  DET_HOST_DEVICE float slope(float x) const {
    if (from_logits) return 1;
    return loss_arithmetic::is_clipped(x) ? 0 : 1 / x;
  }
};

// A label for each row; rows of one label may not count.
struct Labels {
  const int32_t *labels;
  bool ignores;
  int32_t ignored;

  DET_HOST_DEVICE int32_t of(size_t row) const { return labels[row]; }
  DET_HOST_DEVICE bool counts(size_t row) const { return !ignores || labels[row] != ignored; }
};

class SparseLossKernel : public RowLossKernel<SparseLossOp> {
 public:
  SparseLossKernel(const SparseLossOp &op, const Operands &operands, const CudaContextPtr &context)
      : RowLossKernel(op, operands, context), part_(scratch(1)) {}

  void forward() override {
    const float *all_x = input(0).data();
    const Labels labels = this->labels();
    const size_t length = length_;
    const Shares shares{op_.from_logits};
    const RowWeights weights = weights_;
    float *values = values_.data();
    for_each_row(*context_, rows_, length, [=] DET_DEVICE(const RowGroup &group, size_t row) {
      const float *x = all_x + row * length;
      const int32_t label = labels.of(row);
      const float largest = group.largest(length, [&](size_t i) { return x[i]; });
      const float sum = group.sum(length, [&](size_t i) { return shares.weight(x[i], largest); });
      if (!group.is_first()) return;
      const bool is_class = label >= 0 && static_cast<size_t>(label) < length;
      const float entropy = is_class ? shares.entropy(x[label], largest, sum) : NAN;
      values[row] = labels.counts(row) ? weights.of(row) * entropy : 0;
    });
    // What the sum is multiplied by: 1, or one part for each row that counts.
    float *part = part_.data();
    const bool is_sum = op_.is_sum;
    total_.run([=] DET_DEVICE(size_t row) { return labels.counts(row) ? 1.0F : 0.0F; }, part);
    for_each(*context_, 1,
             [=] DET_DEVICE(size_t) { *part = is_sum ? 1 : 1 / (*part > 1 ? *part : 1); });
    total_.run([=] DET_DEVICE(size_t row) { return values[row] * *part; }, output().data());
  }

  void backward() override {
    const float *all_x = input(0).data();
    const Labels labels = this->labels();
    const float *dy = output_gradient().data();
    const float *part = part_.data();
    float *all_dx = input_gradient(0).data();
    const size_t length = length_;
    const Shares shares{op_.from_logits};
    const RowWeights weights = weights_;
    for_each_row(*context_, rows_, length, [=] DET_DEVICE(const RowGroup &group, size_t row) {
      const float *x = all_x + row * length;
      float *dx = all_dx + row * length;
      const int32_t label = labels.of(row);
      const float largest = group.largest(length, [&](size_t i) { return x[i]; });
      const float sum = group.sum(length, [&](size_t i) { return shares.weight(x[i], largest); });
      const float by = labels.counts(row) ? *dy * *part * weights.of(row) : 0;
      group.each(length, [&](size_t i) {
        const float share = shares.weight(x[i], largest) / sum;
        const float is_label = label >= 0 && i == static_cast<size_t>(label) ? 1 : 0;
        dx[i] = by * (share - is_label) * shares.slope(x[i]);
      });
    });
  }

 private:
  Labels labels() const {
    return {input(1).data<int32_t>(), op_.ignored_label.has_value(), op_.ignored_label.value_or(0)};
  }

  const Array part_;  // by forward()
};

}  // namespace

std::unique_ptr<Kernel> cuda_kernel(const LossOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  if (operands.inputs.at(0).size() == 0) return nullptr;
  return std::make_unique<LossKernel>(op, operands, context);
}

std::unique_ptr<Kernel> cuda_kernel(const SparseLossOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  if (operands.inputs.at(0).size() == 0) return nullptr;
  return std::make_unique<SparseLossKernel>(op, operands, context);
}

std::unique_ptr<Kernel> cuda_kernel(const SparseCrossEntropyOp &, const Operands &operands,
                                    const CudaContextPtr &context) {
  return cuda_kernel(SparseLossOp{true, std::nullopt, false}, operands, context);
}

namespace {

class RegularizationKernel : public CudaKernel<RegularizationOp> {
 public:
  RegularizationKernel(const RegularizationOp &op, const Operands &operands,
                       const CudaContextPtr &context)
      : CudaKernel(op, operands, context), total_(*context, input(0).size()) {}

  void forward() override {
    const float *w = input(0).data();
    const Regularizer by = op_.regularizer;
    total_.run([=] DET_DEVICE(size_t i) { return by.l1 * fabsf(w[i]) + by.l2 * w[i] * w[i]; },
               output().data());
  }

  void backward() override {
    const float *w = input(0).data();
    const float *by = output_gradient().data();
    float *dw = input_gradient(0).data();
    const Regularizer regularizer = op_.regularizer;
    for_each(*context_, input(0).size(), [=] DET_DEVICE(size_t i) {
      const float sign = w[i] > 0 ? 1 : w[i] < 0 ? -1 : 0;
      dw[i] = by[0] * (regularizer.l1 * sign + 2 * regularizer.l2 * w[i]);
    });
  }

 private:
  const Total total_;
};

}  // namespace

std::unique_ptr<Kernel> cuda_kernel(const RegularizationOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  return std::make_unique<RegularizationKernel>(op, operands, context);
}

}  // namespace det::nn
