// Convolutions of one shape by cuDNN's graphs.
#pragma once

#include <memory>
#include <optional>

#include "wrappers/nn/arrays/array.h"
#include "wrappers/nn/cuda/cuda_context.h"
#include "wrappers/nn/operations/operations.h"

namespace det::nn {

// y = x * kernel; images (batch, height, width, channels), the kernel (out, height, width, in): its
// channels last, as cuDNN has them. Padded as much after as before.
struct ConvolutionShape {
  Shape x, kernel, y;
  Window window;
  Dtype precision = Dtype::f32;  // of what goes in
  Dtype result = Dtype::f32;
};

enum class ConvolutionPart { forward, of_input, of_kernel };

// What a plan works on: of the three x, kernel and y one is written, or its gradient is.
struct ConvolutionArrays {
  void *x, *kernel, *y;
  const void *bias = nullptr;  // of each channel; forward only
  bool is_relu = false;        // y = max(0, x * kernel + bias)
};

class ConvolutionPlan {
 public:
  // None where cuDNN has no way that gives the same bits each time, in that precision, within the
  // workspace: the caller has another.
  static std::unique_ptr<ConvolutionPlan> make(const CudaContextPtr &context, ConvolutionPart part,
                                               const ConvolutionShape &shape,
                                               const ConvolutionArrays &arrays);
  virtual ~ConvolutionPlan() = default;
  virtual void run() const = 0;
};

}  // namespace det::nn
