#include "tests/nn/suite/operation_case.h"

namespace det::test {

using namespace nn;

OperationCases arranging_cases() {
  return {
      {"transpose of two axes", TransposeOp{{1, 0}}, {floats({3, 5})}},
      {"transpose of inner axes", TransposeOp{{0, 2, 1, 3}}, {floats({2, 3, 4, 5})}},
      {"transpose of inner axes of a large array",
       TransposeOp{{0, 2, 1, 3}},
       {floats({70, 9, 15, 8})}},
      {"transpose around", TransposeOp{{2, 0, 1}}, {floats({2, 3, 4})}},
      {"concatenate", ConcatenateOp{1}, {floats({2, 3}), floats({2, 1}), floats({2, 4})}},
      {"concatenate inside", ConcatenateOp{1}, {floats({2, 3, 2}), floats({2, 1, 2})}},
      {"concatenate of one", ConcatenateOp{0}, {floats({2, 3})}},
      {"slice", SliceOp{1, 1, 2}, {floats({2, 4, 3})}},
      {"slice of nothing before", SliceOp{0, 0, 1}, {floats({3, 2})}},
      {"reverse", ReverseOp{1}, {floats({2, 3, 4})}},
      {"broadcast", BroadcastOp{{2, 3, 4}}, {floats({2, 1, 4})}},
      {"broadcast of two axes", BroadcastOp{{2, 3, 4}}, {floats({2, 1, 1})}},
  };
}

}  // namespace det::test
