#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/error.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

class EmbeddingKernel : public ReferenceKernel<EmbeddingOp> {
 public:
  EmbeddingKernel(const EmbeddingOp &op, const Operands &operands)
      : ReferenceKernel(op, operands),
        rows_(static_cast<size_t>(input(1).shape()[0])),
        features_(static_cast<size_t>(input(1).shape()[1])) {}

  void check() const override {
    for (size_t i = 0; i < input(0).size(); ++i) row_of(i);
  }

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
  size_t row_of(size_t i) const {
    if (input(0).dtype() == Dtype::i32) {
      const int32_t id = input(0).data<int32_t>()[i];
      if (id >= 0 && static_cast<size_t>(id) < rows_) return static_cast<size_t>(id);
      refuse(i, std::to_string(id));
    }
    // Not a number fits no comparison.
    const float id = input(0).data()[i];
    if (id > -1 && id < static_cast<float>(rows_)) return static_cast<size_t>(id);
    refuse(i, std::to_string(id));
  }

  [[noreturn]] void refuse(size_t i, const std::string &id) const {
    const size_t ids_per_record = input(0).size() / static_cast<size_t>(input(0).shape()[0]);
    throw Error(Code::invalid, "an id of record " + std::to_string(i / ids_per_record) + " is " +
                                   id + "; there are 0 to " + std::to_string(rows_ - 1));
  }

  const size_t rows_, features_;
};

}  // namespace

std::unique_ptr<Kernel> reference_kernel(const EmbeddingOp &op, const Operands &operands) {
  return std::make_unique<EmbeddingKernel>(op, operands);
}

}  // namespace det::nn
