// Losses of rows: of a vector each, or of probabilities and a label.
#include "wrappers/nn/cuda/cuda_kernels.h"
#include "wrappers/nn/cuda/gpu_loops.h"
#include "wrappers/nn/cuda/total.h"
#include "wrappers/nn/row_loss_arithmetic.h"

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

class LossKernel : public RowLossKernel<LossOp> {
 public:
  LossKernel(const LossOp &op, const Operands &operands, const CudaContextPtr &context)
      : RowLossKernel(op, operands, context),
        is_hinge_(op.function.kind == LossKind::hinge ||
                  op.function.kind == LossKind::squared_hinge),
        others_(scratch(1)),
        not_binary_(*context, input(1).size()),
        part_(op.is_sum ? 1 : 1 / static_cast<float>(std::max<size_t>(rows_, 1))) {}

  void forward() override {
    const float *x = input(0).data();
    const float *truth = input(1).data();
    float *others = others_.data();
    // Labels of a hinge that are all 0 and 1 are read as -1 and 1.
    if (is_hinge_)
      not_binary_.run(
          [=] DET_DEVICE(size_t i) { return truth[i] == 0 || truth[i] == 1 ? 0.0F : 1.0F; },
          others);
    float *values = values_.data();
    const LossFunction function = op_.function;
    const bool is_hinge = is_hinge_;
    const size_t length = length_;
    const RowWeights weights = weights_;
    for_each(*context_, rows_, [=] DET_DEVICE(size_t row) {
      LossFunction now = function;
      if (is_hinge) now.has_binary_truth = *others == 0;
      const loss_arithmetic::RowFunction of(now, x + row * length, truth + row * length, length);
      values[row] = weights.of(row) * static_cast<float>(of.compute(0, nullptr));
    });
    const float part = part_;
    total_.run([=] DET_DEVICE(size_t row) { return values[row] * part; }, output().data());
  }

  void backward() override {
    const float *x = input(0).data();
    const float *truth = input(1).data();
    const float *others = others_.data();
    const float *dy = output_gradient().data();
    float *dx = input_gradient(0).data();
    const LossFunction function = op_.function;
    const bool is_hinge = is_hinge_;
    const size_t length = length_;
    const RowWeights weights = weights_;
    const float part = part_;
    for_each(*context_, rows_, [=] DET_DEVICE(size_t row) {
      LossFunction now = function;
      if (is_hinge) now.has_binary_truth = *others == 0;
      const loss_arithmetic::RowFunction of(now, x + row * length, truth + row * length, length);
      of.compute(*dy * part * weights.of(row), dx + row * length);
    });
  }

 private:
  const bool is_hinge_;
  const Array others_;  // how many labels are neither 0 nor 1
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

class SparseLossKernel : public RowLossKernel<SparseLossOp> {
 public:
  SparseLossKernel(const SparseLossOp &op, const Operands &operands, const CudaContextPtr &context)
      : RowLossKernel(op, operands, context), part_(scratch(1)) {}

  void forward() override {
    const float *all_x = input(0).data();
    const int32_t *labels = input(1).data<int32_t>();
    const size_t length = length_;
    const Shares shares{op_.from_logits};
    const bool ignores = op_.ignored_label.has_value();
    const int32_t ignored = op_.ignored_label.value_or(0);
    const RowWeights weights = weights_;
    float *values = values_.data();
    for_each_row(*context_, rows_, length, [=] DET_DEVICE(const RowGroup &group, size_t row) {
      const float *x = all_x + row * length;
      const int32_t label = labels[row];
      const float largest = group.largest(length, [&](size_t i) { return x[i]; });
      const float sum = group.sum(length, [&](size_t i) { return shares.weight(x[i], largest); });
      if (!group.is_first()) return;
      const bool is_class = label >= 0 && static_cast<size_t>(label) < length;
      const float entropy = is_class ? shares.entropy(x[label], largest, sum) : NAN;
      values[row] = ignores && label == ignored ? 0 : weights.of(row) * entropy;
    });
    // What the sum is multiplied by: 1, or one part for each row that counts.
    float *part = part_.data();
    const bool is_sum = op_.is_sum;
    total_.run(
        [=] DET_DEVICE(size_t row) { return ignores && labels[row] == ignored ? 0.0F : 1.0F; },
        part);
    for_each(*context_, 1,
             [=] DET_DEVICE(size_t) { *part = is_sum ? 1 : 1 / (*part > 1 ? *part : 1); });
    total_.run([=] DET_DEVICE(size_t row) { return values[row] * *part; }, output().data());
  }

  void backward() override {
    const float *all_x = input(0).data();
    const int32_t *labels = input(1).data<int32_t>();
    const float *dy = output_gradient().data();
    const float *part = part_.data();
    float *all_dx = input_gradient(0).data();
    const size_t length = length_;
    const Shares shares{op_.from_logits};
    const bool ignores = op_.ignored_label.has_value();
    const int32_t ignored = op_.ignored_label.value_or(0);
    const RowWeights weights = weights_;
    for_each_row(*context_, rows_, length, [=] DET_DEVICE(const RowGroup &group, size_t row) {
      const float *x = all_x + row * length;
      float *dx = all_dx + row * length;
      const int32_t label = labels[row];
      const float largest = group.largest(length, [&](size_t i) { return x[i]; });
      const float sum = group.sum(length, [&](size_t i) { return shares.weight(x[i], largest); });
      const float by = ignores && label == ignored ? 0 : *dy * *part * weights.of(row);
      group.each(length, [&](size_t i) {
        const float share = shares.weight(x[i], largest) / sum;
        const float is_label = label >= 0 && i == static_cast<size_t>(label) ? 1 : 0;
        dx[i] = by * (share - is_label) * shares.slope(x[i]);
      });
    });
  }

 private:
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

}  // namespace det::nn
