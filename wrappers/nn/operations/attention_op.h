// What attention is made of, beside softmax and transposed axes.
#pragma once

#include "wrappers/nn/operations/operation_types.h"

namespace det::nn {

// c = scale * a . b of the last two axes, for each of the axes before them, which are the same:
// a (..., m, k), b (..., k, n); or with their last two axes exchanged.
struct BatchedMatMulOp {
  bool transpose_a = false;
  bool transpose_b = false;
  float scale = 1;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// Takes 1e9 from the scores of what is not to be seen, as Keras does: scores (batch, heads,
// queries, keys); a mask, where there is one, of as many axes, with 0 for what is hidden and of
// size 1 where it is the same for all. If causal, the query q sees the keys 0 to q.
struct AttentionMaskOp {
  bool is_causal = false;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

}  // namespace det::nn
