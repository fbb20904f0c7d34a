// The products of a kernel with every window of an image.
#pragma once

#include "wrappers/nn/activation.h"
#include "wrappers/nn/operations/sliding_window.h"

namespace det::nn {

// y = activation(x * kernel + bias): x (batch, height, width, in), kernel (height, width,
// in / groups, out), bias (out) where there is one. Each of `groups` equal parts of the channels
// that go in makes its part of those that come out; with as many as there are channels in, it is a
// depthwise convolution. The activation is one whose derivative follows from its result.
struct ConvolutionOp {
  Window window;
  int64_t groups = 1;
  Activation activation = Activation::linear;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

}  // namespace det::nn
