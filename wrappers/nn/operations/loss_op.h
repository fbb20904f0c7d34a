// What a step makes smaller.
#pragma once

#include <optional>

#include "wrappers/nn/loss_function.h"
#include "wrappers/nn/operations/operation_types.h"

namespace det::nn {

// The sum over rows of weight * -log(softmax(logits)[label]), divided by the number of rows:
// logits (..., classes), labels (...) of I32 from 0 and, where there are any, weights (...).
// A single number comes out. A row with a label that is no class counts as NaN.
struct SparseCrossEntropyOp {
  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// The same of rows that are probabilities, or with a label whose rows do not count. The weights may
// be one for each record, that is for several rows.
struct SparseLossOp {
  bool from_logits = false;
  std::optional<int32_t> ignored_label;
  bool is_sum = false;  // not divided by the number of rows

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// The sum over rows of weight * function, divided by the number of rows: predictions (..., n), what
// is true of the same shape and, where there are any, weights for each row or record. A single
// number comes out.
struct LossOp {
  LossFunction function;
  bool is_sum = false;  // not divided by the number of rows

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

}  // namespace det::nn
