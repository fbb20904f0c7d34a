#include "tests/nn/suite/operation_case.h"

namespace det::test {

using namespace nn;

namespace {

LossFunction of(LossKind kind) {
  LossFunction function;
  function.kind = kind;
  function.from_logits = true;
  return function;
}

// Few of many classes are likely: gradients that are worth a finite difference.
void fill_with_few_likely(size_t input, const Array &array) {
  if (input == 1) {
    const auto labels = array.elements<int32_t>();
    for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int32_t>(i % 5);
    return;
  }
  fill_randomly(array, 17);
  const auto classes = static_cast<size_t>(array.shape().back());
  for (size_t i = 0; i < array.size(); ++i)
    if (i % classes > 4) array.data()[i] -= 15;
}

}  // namespace

OperationCases loss_cases() {
  return {
      {"sparse cross entropy", SparseCrossEntropyOp{}, {floats({4, 3}), ints({4})}},
      {"sparse cross entropy of many classes",
       SparseCrossEntropyOp{},
       {floats({70, 1003}), ints({70})},
       fill_with_few_likely},
      {"sparse cross entropy with weights",
       SparseCrossEntropyOp{},
       {floats({4, 3}), ints({4}), floats({4})},
       {},
       {true, false, false}},
      {"sparse loss of logits with a label that does not count",
       SparseLossOp{true, 1, true},
       {floats({4, 3}), ints({4}), floats({4})},
       {},
       {true, false, false}},
      {"squared error", LossOp{}, {floats({4, 3}), floats({4, 3})}, {}, {true, false}},
      {"binary crossentropy of logits, a weight for two rows",
       LossOp{of(LossKind::binary_crossentropy)},
       {floats({2, 2, 3}), floats({2, 2, 3}), floats({2})},
       {},
       {true, false, false}},
      {"categorical crossentropy of logits, with labels that do not add up to 1",
       LossOp{of(LossKind::categorical_crossentropy), true},
       {floats({4, 3}), floats({4, 3})},
       {},
       {true, false}},
      {"log cosh",
       LossOp{of(LossKind::log_cosh)},
       {floats({4, 3}), floats({4, 3})},
       {},
       {true, false}},
      {"cosine similarity",
       LossOp{of(LossKind::cosine_similarity)},
       {floats({4, 3}), floats({4, 3})},
       {},
       {true, false}},
  };
}

}  // namespace det::test
