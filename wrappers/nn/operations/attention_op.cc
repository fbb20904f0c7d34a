#include "wrappers/nn/operations/attention_op.h"

#include <algorithm>

#include "core/base/error.h"

namespace det::nn {

ArrayTypes BatchedMatMulOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 2, 2, "batched matrix product");
  for (const ArrayType &input : inputs) expect_float(input, "an input");
  Shape a = inputs[0].shape;
  Shape b = inputs[1].shape;
  const auto exchange = [](Shape &shape) { std::swap(shape.back(), shape[shape.size() - 2]); };
  const size_t rank = a.size();
  if (rank >= 2 && rank == b.size()) {
    if (transpose_a) exchange(a);
    if (transpose_b) exchange(b);
    const auto batches = static_cast<std::ptrdiff_t>(rank - 2);
    if (a[rank - 1] == b[rank - 2] && std::equal(a.begin(), a.begin() + batches, b.begin())) {
      a.back() = b.back();
      return {{a, Dtype::f32}};
    }
  }
  throw Error(Code::invalid, "there is no product of " + text_of(inputs[0].shape) +
                                 (transpose_a ? " transposed" : "") + " and " +
                                 text_of(inputs[1].shape) + (transpose_b ? " transposed" : ""));
}

ArrayTypes AttentionMaskOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 1, 2, "attention mask");
  expect_float(inputs[0], "the scores");
  const Shape &scores = inputs[0].shape;
  if (scores.size() != 4)
    throw Error(Code::invalid, "scores of " + text_of(scores) + " have not four axes");
  if (inputs.size() == 1) return inputs;
  const Shape &mask = inputs[1].shape;
  bool fits = mask.size() == scores.size() && inputs[1].dtype == Dtype::i32;
  for (size_t i = 0; fits && i < mask.size(); ++i) fits = mask[i] == scores[i] || mask[i] == 1;
  if (!fits)
    throw Error(Code::invalid, "the mask, of " + text_of(mask) + " and " +
                                   tensors::name_of(inputs[1].dtype) + ", does not fit scores of " +
                                   text_of(scores) + "; it is to be whole numbers or BOOL");
  return {inputs[0]};
}

}  // namespace det::nn
