// Convolutions by plain loops on the GPU: of groups, and where cuDNN has no way.
#pragma once

#include "wrappers/nn/array.h"
#include "wrappers/nn/cuda/cuda_context.h"
#include "wrappers/nn/operations/sliding_window.h"

namespace det::nn {

// Of one shape: images (batch, height, width, channels), the kernel (height, width, in / groups,
// out). `sums` is y before its activation, or the gradient of that.
class DirectConvolution {
 public:
  struct Dimension;
  struct Sizes;

  DirectConvolution(CudaContextPtr context, const Window &window, int64_t groups, const Shape &x,
                    const Shape &kernel, const Shape &y);

  // y = x * kernel + bias, which may be null.
  void forward(const float *x, const float *kernel, const float *bias, float *y) const;
  void of_input(const float *sums, const float *kernel, float *dx) const;
  void of_kernel(const float *x, const float *sums, float *dkernel) const;

 private:
  const CudaContextPtr context_;
  const std::shared_ptr<const Sizes> sizes_;
};

}  // namespace det::nn
