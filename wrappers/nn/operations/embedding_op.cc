#include "wrappers/nn/operations/embedding_op.h"

#include "core/base/error.h"

namespace det::nn {

ArrayTypes EmbeddingOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 2, 2, "embedding");
  if (inputs[0].dtype != Dtype::i32) expect_float(inputs[0], "the array of ids");
  expect_float(inputs[1], "the table");
  if (inputs[0].shape.empty() || inputs[1].shape.size() != 2)
    throw Error(Code::invalid, "ids of " + text_of(inputs[0].shape) + " choose no rows of " +
                                   text_of(inputs[1].shape));
  Shape y = inputs[0].shape;
  y.push_back(inputs[1].shape[1]);
  return {{y, Dtype::f32}};
}

size_t EmbeddingOp::row_of(const Array &ids, size_t index, size_t rows) {
  const auto refuse = [&](auto id) {
    const size_t ids_per_record = ids.size() / static_cast<size_t>(ids.shape()[0]);
    throw Error(Code::invalid, "an id of record " + std::to_string(index / ids_per_record) +
                                   " is " + std::to_string(id) + "; there are 0 to " +
                                   std::to_string(rows - 1));
  };
  if (ids.dtype() == Dtype::i32) {
    const int32_t id = ids.data<int32_t>()[index];
    if (id < 0 || static_cast<size_t>(id) >= rows) refuse(id);
    return static_cast<size_t>(id);
  }
  // Not a number fits no comparison.
  const float id = ids.data()[index];
  if (!(id > -1 && id < static_cast<float>(rows))) refuse(id);
  return static_cast<size_t>(id);
}

void EmbeddingOp::check(const Array &ids, size_t rows) {
  for (size_t i = 0; i < ids.size(); ++i) row_of(ids, i, rows);
}

}  // namespace det::nn
