// Images and sequences made larger or smaller at their edges, or by repeating what is in them.
#pragma once

#include "wrappers/nn/operations/operation_types.h"

namespace det::nn {

// So many zeros before and after what there is, for each axis; below zero is what is cut off.
struct PaddingOp {
  Shape before;
  Shape after;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// Each element of an image (batch, height, width, channels) so often down and across.
struct RepeatingOp {
  int64_t down = 1;
  int64_t across = 1;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// An image as often larger down and across, its pixels between those that go in, by their
// distances: each is as large as several, with its middle where theirs is. At the edges the last
// one goes on.
struct InterpolatingOp {
  int64_t down = 1;
  int64_t across = 1;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

}  // namespace det::nn
