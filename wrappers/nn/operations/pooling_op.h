// The largest or the mean of every window of an image.
#pragma once

#include "wrappers/nn/operations/sliding_window.h"

namespace det::nn {

enum class Pooling { max, average };

// Of each channel by itself. What is padded is no part of a window: neither the largest, nor
// counted in a mean. The gradient of equal ones that are the largest goes to the first of them.
struct PoolingOp {
  Pooling pooling = Pooling::max;
  Window window;  // without dilation

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

}  // namespace det::nn
