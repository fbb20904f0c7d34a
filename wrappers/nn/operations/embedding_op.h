// Rows of a table by their numbers.
#pragma once

#include "wrappers/nn/operations/operation_types.h"

namespace det::nn {

// y[...] = table[ids[...]]: ids (...) of I32, or of F32 of which the whole part counts; table
// (rows, features). An id that is no row is Code::invalid when it comes.
struct EmbeddingOp {
  ArrayTypes infer(const ArrayTypes &inputs) const;
  // The row that an id says. Throws Code::invalid, naming the record, where there is none.
  static size_t row_of(const Array &ids, size_t index, size_t rows);
  static void check(const Array &ids, size_t rows);
};

}  // namespace det::nn
