#include "tests/nn/suite/operation_case.h"

namespace det::test {

using namespace nn;

OperationCases embedding_cases() {
  return {
      {"embedding", EmbeddingOp{}, {ints({3, 4}), floats({5, 6})}},
      {"embedding of one id a record", EmbeddingOp{}, {ints({7}), floats({2, 3})}},
  };
}

}  // namespace det::test
