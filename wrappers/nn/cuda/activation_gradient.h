// What goes back through the activation of another operation.
#pragma once

#include "wrappers/nn/arithmetic/activation.h"
#include "wrappers/nn/arrays/array.h"
#include "wrappers/nn/cuda/cuda_context.h"
#include "wrappers/nn/cuda/rounded.h"

namespace det::nn {

// Of an activation whose derivative follows from its result.
class ActivationGradient {
 public:
  ActivationGradient(const CudaContextPtr &context, Activation activation, size_t elements);

  // result = activation(y); `y` is the result's own array.
  void apply(const float *y, const Result &result) const;
  // Where run() answers for this dy.
  const float *place(const Array &dy) const {
    if (activation_ != Activation::linear) return reinterpret_cast<const float *>(memory_.get());
    return dy ? dy.data() : nullptr;
  }
  // dy times the derivative, where it lies until the next call.
  const float *run(const float *y, const float *dy) const;

 private:
  const CudaContextPtr context_;
  const Activation activation_;
  const size_t elements_;
  std::shared_ptr<std::byte> memory_;
};

}  // namespace det::nn
