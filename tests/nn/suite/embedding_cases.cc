#include "tests/nn/suite/operation_case.h"

namespace det::test {

using namespace nn;

namespace {

constexpr int64_t words = 50000;

// Some far more often than others, one a third of the time, and most of them never.
void fill_with_words(size_t input, const Array &array) {
  if (array.dtype() == Dtype::f32) return fill_randomly(array, 17 + input);
  const auto ids = array.elements<int32_t>();
  for (size_t i = 0; i < ids.size(); ++i) {
    const size_t id = i % 3 == 0 ? 7 : i % 3 == 1 ? i * 7919 % words : i / 100 % 40;
    ids[i] = static_cast<int32_t>(id);
  }
  ids.back() = words - 1;
}

}  // namespace

OperationCases embedding_cases() {
  return {
      {"embedding", EmbeddingOp{}, {ints({3, 4}), floats({5, 6})}},
      {"embedding of one id a record", EmbeddingOp{}, {ints({7}), floats({2, 3})}},
      {"embedding of many words",
       EmbeddingOp{},
       {ints({20, 50}), floats({words, 3})},
       fill_with_words},
  };
}

OperationCase long_embedding() {
  return {"embedding of very many words",
          EmbeddingOp{},
          {ints({300, 1000}), floats({words, 2})},
          fill_with_words};
}

}  // namespace det::test
