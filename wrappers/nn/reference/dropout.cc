#include <algorithm>

#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

class DropoutKernel : public OperationKernel<DropoutOp> {
 public:
  DropoutKernel(const DropoutOp &op, const Operands &operands)
      : OperationKernel(op, operands), is_kept_(draws()) {}

  void forward() override {
    DropoutDraws drawn(op_.seed.value_or(operands_.state->seed), operands_.stream,
                       operands_.state->step);
    for (size_t i = 0; i < is_kept_.size(); ++i) is_kept_[i] = drawn.is_kept(i, op_.rate) ? 1 : 0;
    leave_out(input(0), output());
  }

  void backward() override { leave_out(output_gradient(), input_gradient(0)); }

 private:
  size_t draws() const {
    const Shape &shape = input(0).shape();
    return op_.is_spatial ? static_cast<size_t>(shape.front() * shape.back()) : input(0).size();
  }

  void leave_out(const Array &from, const Array &to) const {
    const auto channels = op_.is_spatial ? static_cast<size_t>(from.shape().back()) : 1;
    const size_t record = from.size() / static_cast<size_t>(std::max<int64_t>(from.shape()[0], 1));
    for (size_t i = 0; i < from.size(); ++i) {
      const size_t draw = op_.is_spatial ? i / record * channels + i % channels : i;
      to.data()[i] = is_kept_[draw] != 0 ? from.data()[i] * op_.scale() : 0;
    }
  }

  std::vector<uint8_t> is_kept_;
};

}  // namespace

std::unique_ptr<Kernel> reference_kernel(const DropoutOp &op, const Operands &operands) {
  return std::make_unique<DropoutKernel>(op, operands);
}

}  // namespace det::nn
