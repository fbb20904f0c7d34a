#include "tests/nn/suite/operation_case.h"

namespace det::test {

using namespace nn;

OperationCases attention_cases() {
  OperationCases cases{
      {"causal mask", AttentionMaskOp{true}, {floats({2, 2, 3, 3})}},
      {"mask of each record", AttentionMaskOp{}, {floats({2, 2, 3, 4}), ints({2, 1, 3, 4})}},
      {"causal mask and mask of keys",
       AttentionMaskOp{true},
       {floats({2, 1, 3, 3}), ints({2, 1, 1, 3})}},
  };
  // What is hidden stays hidden: next to 1e9 no difference is seen.
  for (OperationCase &masked : cases) masked.is_differentiable.assign(masked.inputs.size(), false);
  // Few products, which loops of our own add up, and many.
  for (const int64_t rows : {4, 60})
    for (const bool a : {false, true})
      for (const bool b : {false, true})
        cases.push_back({"batched product of " + std::to_string(rows) + " rows" +
                             (a ? ", a transposed" : "") + (b ? ", b transposed" : ""),
                         BatchedMatMulOp{a, b, 0.7F},
                         {floats(a ? Shape{2, 3, 5, rows} : Shape{2, 3, rows, 5}),
                          floats(b ? Shape{2, 3, 16, 5} : Shape{2, 3, 5, 16})}});
  // Sums longer than what loops of our own take at once.
  for (const bool b : {false, true})
    cases.push_back({std::string("batched product of long sums") + (b ? ", b transposed" : ""),
                     BatchedMatMulOp{false, b},
                     {floats({2, 20, 70}), floats(b ? Shape{2, 12, 70} : Shape{2, 70, 12})},
                     {},
                     {false, false}});
  return cases;
}

}  // namespace det::test
