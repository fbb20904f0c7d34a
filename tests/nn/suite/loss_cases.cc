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

}  // namespace

OperationCases loss_cases() {
  return {
      {"sparse cross entropy", SparseCrossEntropyOp{}, {floats({4, 3}), ints({4})}},
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
      {"categorical crossentropy of logits",
       LossOp{of(LossKind::categorical_crossentropy), true},
       {floats({4, 3}), floats({4, 3})},
       [](size_t input, const Array &array) {
         fill_randomly(array, 17 + input);
         for (float &value : array.elements()) value = input == 0 ? value : 1.0F / 3;
       },
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
