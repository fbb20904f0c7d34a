#include "wrappers/nn/cuda/activation_gradient.h"

#include <algorithm>

#include "wrappers/nn/arithmetic/element_functions.h"
#include "wrappers/nn/cuda/gpu_loops.h"

namespace det::nn {

ActivationGradient::ActivationGradient(const CudaContextPtr &context, Activation activation,
                                       size_t elements)
    : context_(context), activation_(activation), elements_(elements) {
  if (activation != Activation::linear)
    memory_ = context->device_memory().allocate(std::max<size_t>(elements, 1) * sizeof(float));
}

void ActivationGradient::apply(const float *y, const Result &result) const {
  if (activation_ == Activation::linear) return;
  const Activation activation = activation_;
  const Result to = result;
  for_each(*context_, elements_,
           [=] DET_DEVICE(size_t i) { to.write(i, activate(activation, y[i])); });
}

const float *ActivationGradient::run(const float *y, const float *dy) const {
  if (activation_ == Activation::linear) return dy;
  auto *const sums = reinterpret_cast<float *>(memory_.get());
  const Activation activation = activation_;
  for_each(*context_, elements_,
           [=] DET_DEVICE(size_t i) { sums[i] = dy[i] * derivative(activation, 0, y[i]); });
  return sums;
}

}  // namespace det::nn
