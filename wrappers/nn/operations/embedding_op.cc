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

}  // namespace det::nn
