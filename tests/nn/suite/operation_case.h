// One operation with arrays to try it on. Every case is run in all modes: against the plain loops,
// and its gradients against finite differences (test_operations.cc).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "wrappers/nn/operations/operations.h"

namespace det::test {

struct OperationCase {
  std::string name;
  nn::Operation operation;
  nn::ArrayTypes inputs;
  // Writes the numbers of an input; without it they are between -1 and 1, and of whole numbers 0
  // and
  // 1. Functions with corners are given what is not near one.
  std::function<void(size_t input, const nn::Array &array)> fill = {};
  // Of the inputs that a gradient is asked for; all of F32 where it is empty.
  std::vector<bool> is_differentiable = {};
  // How far results of back ends may be from each other, as a part of the largest.
  double tolerance = 1e-5;
  double least = 1e-3;  // results smaller than this are compared as if they were as large
};

using OperationCases = std::vector<OperationCase>;

// One for each file of operations.
OperationCases arranging_cases();
OperationCases attention_cases();
OperationCases convolution_cases();
OperationCases dense_cases();
OperationCases dropout_cases();
OperationCases elementwise_cases();
OperationCases embedding_cases();
OperationCase long_embedding();  // for which looking at all pairs of places takes long
OperationCases loss_cases();
OperationCases normalization_cases();
OperationCases odd_cases();  // many, which are tried apart
OperationCases pooling_cases();
OperationCases recurrent_cases();
OperationCases resizing_cases();

inline nn::ArrayType floats(nn::Shape shape) { return {std::move(shape), nn::Dtype::f32}; }
inline nn::ArrayType ints(nn::Shape shape) { return {std::move(shape), nn::Dtype::i32}; }

// The same numbers for one seed, between -1 and 1.
void fill_randomly(const nn::Array &array, uint64_t seed);
// No two numbers are near each other: the larger stays the larger for a small step.
void fill_with_distances(size_t input, const nn::Array &array);
// Variances, which are of one axis, are above zero.
void fill_with_variances(size_t input, const nn::Array &array);

}  // namespace det::test
