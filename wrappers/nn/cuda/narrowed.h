// Arrays in 16 bits, for matrix units.
#pragma once

#include "wrappers/nn/arrays/array.h"
#include "wrappers/nn/cuda/cuda_context.h"

namespace det::nn {

// The elements of arrays as BF16 or F16 beside them; with F32 the arrays themselves.
class Narrowed {
 public:
  Narrowed(const CudaContextPtr &context, size_t elements, Dtype precision);

  // Converts them, in turn with the kernels. Gives where they lie until the next call.
  const void *run(const float *from) const;
  // Where run() puts those of `from`.
  void *of(float *from) const { return memory_ ? memory_.get() : static_cast<void *>(from); }
  // Back again: what is there becomes `to`.
  void widen(float *to) const;

 private:
  CudaContextPtr context_;
  size_t elements_;
  Dtype precision_;
  std::shared_ptr<std::byte> memory_;
};

}  // namespace det::nn
