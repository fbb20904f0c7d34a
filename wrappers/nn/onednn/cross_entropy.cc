// Cross entropy with labels: each row by itself, as wide as the processor's vectors. oneDNN has
// none; the plain loops take ten times as long (tests/bench/bench_nn_products).
#include <limits>

#include "wrappers/nn/arithmetic/row_arithmetic.h"
#include "wrappers/nn/onednn/onednn_kernels.h"
#include "wrappers/nn/onednn/shares.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

class VectorisedSparseCrossEntropy : public OperationKernel<SparseCrossEntropyOp> {
 public:
  VectorisedSparseCrossEntropy(const SparseCrossEntropyOp &op, const Operands &operands,
                               const OnednnContext &context)
      : OperationKernel(op, operands),
        classes_(static_cast<size_t>(input(0).shape().back())),
        rows_(input(1).size()),
        shares_(shares_of(context, input(0).size())),
        logs_of_sums_(rows_) {}

  void forward() override {
    for_each_share(shares_, rows_, [&](size_t, size_t first, size_t end) {
      for (size_t row = first; row < end; ++row)
        logs_of_sums_[row] = log_sum_exp_of(logits(row), classes_);
    });
    double sum = 0;
    for (size_t row = 0; row < rows_; ++row) {
      const int32_t label = this->label(row);
      if (!is_class(label)) sum = std::numeric_limits<double>::quiet_NaN();
      else sum += static_cast<double>(weight(row) * (logs_of_sums_[row] - logits(row)[label]));
    }
    output().data()[0] = static_cast<float>(sum / static_cast<double>(rows_));
  }

  void backward() override {
    const float scale = output_gradient().data()[0] / static_cast<float>(rows_);
    float *dx = input_gradient(0).data();
    for_each_share(shares_, rows_, [&](size_t, size_t first, size_t end) {
      for (size_t row = first; row < end; ++row) {
        const float by = scale * weight(row);
        set_exponentials(logits(row), logs_of_sums_[row], by, dx + row * classes_, classes_);
        if (const int32_t label = this->label(row); is_class(label))
          dx[row * classes_ + static_cast<size_t>(label)] -= by;
      }
    });
  }

 private:
  const float *logits(size_t row) const { return input(0).data() + row * classes_; }
  int32_t label(size_t row) const { return input(1).data<int32_t>()[row]; }
  float weight(size_t row) const { return inputs() == 3 ? input(2).data()[row] : 1; }
  bool is_class(int32_t label) const { return label >= 0 && static_cast<size_t>(label) < classes_; }

  const size_t classes_, rows_, shares_;
  std::vector<float> logs_of_sums_;  // by forward(), for each row
};

}  // namespace

std::unique_ptr<Kernel> onednn_kernel(const SparseCrossEntropyOp &op, const Operands &operands,
                                      const OnednnContextPtr &context) {
  if (operands.inputs.at(0).size() == 0) return nullptr;
  return std::make_unique<VectorisedSparseCrossEntropy>(op, operands, *context);
}

}  // namespace det::nn
