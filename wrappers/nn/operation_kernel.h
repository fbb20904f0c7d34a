// What kernels of all back ends are made of.
#pragma once

#include "wrappers/nn/backend.h"

namespace det::nn {

// An operation and its operands.
template <class Op>
class OperationKernel : public Kernel {
 public:
  OperationKernel(Op op, Operands operands) : op_(std::move(op)), operands_(std::move(operands)) {}

 protected:
  const Array &input(size_t i) const { return operands_.inputs.at(i); }
  const Array &output(size_t i = 0) const { return operands_.outputs.at(i); }
  const Array &input_gradient(size_t i) const { return operands_.input_gradients.at(i); }
  const Array &output_gradient(size_t i = 0) const { return operands_.output_gradients.at(i); }
  size_t inputs() const { return operands_.inputs.size(); }

  const Op op_;
  const Operands operands_;
};

}  // namespace det::nn
