// Rows of a table by their numbers.
#pragma once

#include "wrappers/nn/operations/operation_types.h"

namespace det::nn {

// y[...] = table[ids[...]]: ids (...) of I32, or of F32 of which the whole part counts; table
// (rows, features). An id that is no row is Code::invalid when it comes.
struct EmbeddingOp {
  ArrayTypes infer(const ArrayTypes &inputs) const;
};

}  // namespace det::nn
