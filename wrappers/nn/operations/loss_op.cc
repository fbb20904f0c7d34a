#include "wrappers/nn/operations/loss_op.h"

#include <algorithm>

#include "core/base/error.h"

namespace det::nn {

namespace {

// What a prediction has besides its last axis.
Shape rows_of(const ArrayType &prediction) {
  expect_float(prediction, "the prediction");
  Shape rows = prediction.shape;
  if (rows.size() < 2)
    throw Error(Code::invalid,
                "a prediction of " + text_of(rows) + " has no axis of classes beside its batch");
  rows.pop_back();
  return rows;
}

void expect_labels(const ArrayType &labels, const Shape &rows) {
  expect_shape(labels, rows, "the labels array");
  if (labels.dtype != Dtype::i32)
    throw Error(Code::invalid, std::string("labels of ") + tensors::name_of(labels.dtype) +
                                   " are not taken here; I32 are");
}

void expect_weights(const ArrayType &weights, const Shape &rows) {
  const Shape &shape = weights.shape;
  if (shape.empty() || shape.size() > rows.size() ||
      !std::equal(shape.begin(), shape.end(), rows.begin()))
    throw Error(Code::invalid, "weights of " + text_of(shape) + " do not fit predictions of " +
                                   text_of(rows) + ", by rows or by records");
}

const ArrayTypes single_number{{{}, Dtype::f32}};

}  // namespace

ArrayTypes SparseCrossEntropyOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 2, 3, "sparse cross entropy");
  const Shape rows = rows_of(inputs[0]);
  expect_labels(inputs[1], rows);
  if (inputs.size() == 3) expect_shape(inputs[2], rows, "the array of weights");
  return single_number;
}

ArrayTypes SparseLossOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 2, 3, "sparse cross entropy");
  const Shape rows = rows_of(inputs[0]);
  expect_labels(inputs[1], rows);
  if (inputs.size() == 3) expect_weights(inputs[2], rows);
  return single_number;
}

ArrayTypes LossOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 2, 3, "a loss");
  const Shape rows = rows_of(inputs[0]);
  expect_float(inputs[1], "what is true");
  expect_shape(inputs[1], inputs[0].shape, "the array of what is true");
  if (inputs.size() == 3) expect_weights(inputs[2], rows);
  return single_number;
}

}  // namespace det::nn
