#include <algorithm>

#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

class EmbeddingKernel : public OperationKernel<EmbeddingOp> {
 public:
  EmbeddingKernel(const EmbeddingOp &op, const Operands &operands)
      : OperationKernel(op, operands),
        rows_(static_cast<size_t>(input(1).shape()[0])),
        features_(static_cast<size_t>(input(1).shape()[1])) {}

  void forward() override {
    for (size_t i = 0; i < input(0).size(); ++i)
      std::copy_n(input(1).data() + row_of(i) * features_, features_,
                  output().data() + i * features_);
  }

  void backward() override {
    if (const Array &ids = input_gradient(0)) std::fill_n(ids.data(), ids.size(), 0.0F);
    if (!input_gradient(1)) return;
    const auto table = input_gradient(1).elements();
    std::fill(table.begin(), table.end(), 0.0F);
    for (size_t i = 0; i < input(0).size(); ++i) {
      float *row = table.data() + row_of(i) * features_;
      const float *dy = output_gradient().data() + i * features_;
      for (size_t k = 0; k < features_; ++k) row[k] += dy[k];
    }
  }

 private:
  size_t row_of(size_t i) const { return EmbeddingOp::row_of(input(0), i, rows_); }

  const size_t rows_, features_;
};

}  // namespace

std::unique_ptr<Kernel> reference_kernel(const EmbeddingOp &op, const Operands &operands) {
  return std::make_unique<EmbeddingKernel>(op, operands);
}

}  // namespace det::nn
