#include "tests/nn/suite/operation_suite.h"

#include <algorithm>
#include <cmath>

#include "tests/cmocka.h"
#include "wrappers/nn/arithmetic/random_stream.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::test {

using nn::Array;

void fill_randomly(const nn::Array &array, uint64_t seed) {
  nn::RandomStream random(seed, 0);
  for (float &value : array.elements()) value = random.uniform(-1, 1);
}

void fill_with_distances(size_t, const nn::Array &array) {
  const auto values = array.elements();
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((i * 37) % 101) / 50 - 1;
}

void fill_with_variances(size_t input, const nn::Array &array) {
  fill_randomly(array, 17 + input);
  if (array.shape().size() != 1) return;
  for (float &value : array.elements()) value += 2;
}

namespace {

bool is_differentiable(const OperationCase &tried, size_t input) {
  if (tried.inputs[input].dtype != nn::Dtype::f32) return false;
  return tried.is_differentiable.empty() || tried.is_differentiable.at(input);
}

void fill_input(const OperationCase &tried, size_t input, const Array &array) {
  if (tried.fill) return tried.fill(input, array);
  if (array.dtype() == nn::Dtype::f32) return fill_randomly(array, 17 + input);
  const auto numbers = array.elements<int32_t>();
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int32_t>(i % 2);
}

void compare(const OperationCase &tried, const char *what, const std::vector<Array> &found,
             const std::vector<Array> &expected) {
  for (size_t a = 0; a < expected.size(); ++a) {
    if (!expected[a] || expected[a].dtype() != nn::Dtype::f32) continue;
    const double scale = largest_of(expected[a]);
    for (size_t i = 0; i < expected[a].size(); ++i)
      expect_near(tried, what, i, static_cast<double>(found[a].data()[i]),
                  static_cast<double>(expected[a].data()[i]), scale, tried.tolerance);
  }
}

}  // namespace

OperationCases all_cases() {
  OperationCases cases;
  for (const auto &part :
       {arranging_cases(), attention_cases(), convolution_cases(), dense_cases(), dropout_cases(),
        elementwise_cases(), embedding_cases(), loss_cases(), normalization_cases(),
        pooling_cases(), recurrent_cases(), resizing_cases()})
    cases.insert(cases.end(), part.begin(), part.end());
  return cases;
}

OperationArrays::OperationArrays(const OperationCase &tried, nn::Backend &backend) {
  for (size_t i = 0; i < tried.inputs.size(); ++i) {
    operands.inputs.push_back(backend.make_array(tried.inputs[i]));
    fill_input(tried, i, operands.inputs.back());
    operands.input_gradients.push_back(
        is_differentiable(tried, i) ? backend.make_array(tried.inputs[i]) : Array());
  }
  for (const nn::ArrayType &type : nn::infer(tried.operation, tried.inputs)) {
    operands.outputs.push_back(backend.make_array(type));
    operands.output_gradients.push_back(type.dtype == nn::Dtype::f32 ? backend.make_array(type)
                                                                     : Array());
    if (type.dtype == nn::Dtype::f32)
      fill_randomly(operands.output_gradients.back(), 91 + operands.outputs.size());
  }
  operands.stream = 3;
  operands.state = &state;
}

double OperationArrays::weighed() const {
  double sum = 0;
  for (size_t o = 0; o < operands.outputs.size(); ++o)
    for (size_t i = 0; operands.output_gradients[o] && i < operands.outputs[o].size(); ++i)
      sum += static_cast<double>(operands.outputs[o].data()[i]) *
             static_cast<double>(operands.output_gradients[o].data()[i]);
  return sum;
}

void expect_near(const OperationCase &tried, const char *what, size_t index, double found,
                 double expected, double scale, double tolerance) {
  if (std::fabs(found - expected) <= tolerance * std::max(scale, tried.least)) return;
  print_error("%s, %s %zu: %.8g, not %.8g\n", tried.name.c_str(), what, index, found, expected);
  assert_true(false);
}

double largest_of(const Array &array) {
  double largest = 0;
  for (const float value : array.elements())
    largest = std::max(largest, std::fabs(static_cast<double>(value)));
  return largest;
}

bool compare_with_loops(const OperationCase &tried, nn::Backend &backend) {
  const auto loops = nn::open_reference_backend();
  const OperationArrays expected(tried, *loops);
  const auto reference = nn::make_reference_kernel(tried.operation, expected.operands);
  const OperationArrays found(tried, backend);
  const auto kernel = backend.make(tried.operation, found.operands);
  if (!kernel) return false;
  // Twice: nothing of the first step may be left in the second.
  for (int step = 0; step < 2; ++step) {
    reference->forward();
    reference->backward();
    kernel->forward();
    kernel->backward();
    backend.synchronize();
  }
  compare(tried, "result", found.operands.outputs, expected.operands.outputs);
  compare(tried, "gradient", found.operands.input_gradients, expected.operands.input_gradients);
  return true;
}

std::vector<std::string> compare_with_loops(nn::Backend &backend) {
  std::vector<std::string> left;
  for (const OperationCase &tried : all_cases())
    if (!compare_with_loops(tried, backend)) left.push_back(tried.name);
  return left;
}

}  // namespace det::test
