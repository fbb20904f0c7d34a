// The same elements elsewhere: other orders of axes, parts, and arrays side by side.
#pragma once

#include "wrappers/nn/operations/operation_types.h"

namespace det::nn {

// y's axis i is x's axis permutation[i].
struct TransposeOp {
  std::vector<size_t> permutation;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// Inputs side by side along an axis; their other sizes are the same.
struct ConcatenateOp {
  size_t axis = 0;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// `size` of what there is along an axis, from `begin`.
struct SliceOp {
  size_t axis = 0;
  int64_t begin = 0;
  int64_t size = 0;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// The last of an axis first.
struct ReverseOp {
  size_t axis = 0;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// Repeats x along each axis where it has 1 and the shape another size; as many axes.
struct BroadcastOp {
  Shape shape;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

}  // namespace det::nn
