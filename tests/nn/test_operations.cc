// Every operation on every back end: the results and gradients of the plain loops, and gradients
// that are those of finite differences.
#include <algorithm>
#include <cmath>

#include "tests/cmocka.h"
#include "tests/nn/suite/operation_case.h"
#include "wrappers/nn/backend.h"
#include "wrappers/nn/random_stream.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::test {

void fill_randomly(const nn::Array &array, uint64_t seed) {
  nn::RandomStream random(seed, 0);
  for (float &value : array.elements()) value = random.uniform(-1, 1);
}

namespace {

using nn::Array;
using nn::Operands;

bool is_differentiable(const OperationCase &tried, size_t input) {
  if (tried.inputs[input].dtype != nn::Dtype::f32) return false;
  return tried.is_differentiable.empty() || tried.is_differentiable.at(input);
}

void fill(const OperationCase &tried, size_t input, const Array &array) {
  if (tried.fill) return tried.fill(input, array);
  if (array.dtype() == nn::Dtype::f32) return fill_randomly(array, 17 + input);
  const auto numbers = array.elements<int32_t>();
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int32_t>(i % 2);
}

// A case with its arrays; two of one case have the same numbers in them.
struct Arrays {
  explicit Arrays(const OperationCase &tried) {
    for (size_t i = 0; i < tried.inputs.size(); ++i) {
      operands.inputs.emplace_back(tried.inputs[i]);
      fill(tried, i, operands.inputs.back());
      operands.input_gradients.push_back(is_differentiable(tried, i) ? Array(tried.inputs[i])
                                                                     : Array());
    }
    for (const nn::ArrayType &type : nn::infer(tried.operation, tried.inputs)) {
      operands.outputs.emplace_back(type);
      operands.output_gradients.push_back(type.dtype == nn::Dtype::f32 ? Array(type) : Array());
      if (type.dtype == nn::Dtype::f32)
        fill_randomly(operands.output_gradients.back(), 91 + operands.outputs.size());
    }
    operands.stream = 3;
    operands.state = &state;
  }

  // How much the outputs weigh with the gradients that come in.
  double weighed() const {
    double sum = 0;
    for (size_t o = 0; o < operands.outputs.size(); ++o)
      for (size_t i = 0; operands.output_gradients[o] && i < operands.outputs[o].size(); ++i)
        sum += static_cast<double>(operands.outputs[o].data()[i]) *
               static_cast<double>(operands.output_gradients[o].data()[i]);
    return sum;
  }

  nn::StepState state{5, 2};
  Operands operands;
};

OperationCases all_cases() {
  OperationCases cases;
  for (const auto &part :
       {arranging_cases(), attention_cases(), convolution_cases(), dense_cases(), dropout_cases(),
        elementwise_cases(), embedding_cases(), loss_cases(), normalization_cases(),
        pooling_cases(), recurrent_cases(), resizing_cases()})
    cases.insert(cases.end(), part.begin(), part.end());
  return cases;
}

void expect_near(const OperationCase &tried, const char *what, size_t index, double found,
                 double expected, double scale, double tolerance) {
  if (std::fabs(found - expected) <= tolerance * std::max(scale, 1e-3)) return;
  print_error("%s, %s %zu: %.8g, not %.8g\n", tried.name.c_str(), what, index, found, expected);
  assert_true(false);
}

double largest_of(const Array &array) {
  double largest = 0;
  for (const float value : array.elements())
    largest = std::max(largest, std::fabs(static_cast<double>(value)));
  return largest;
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

void test_gradients_are_finite_differences(void **) {
  for (const OperationCase &tried : all_cases()) {
    const Arrays arrays(tried);
    const auto kernel = nn::make_reference_kernel(tried.operation, arrays.operands);
    kernel->forward();
    kernel->backward();
    for (size_t input = 0; input < tried.inputs.size(); ++input) {
      const Array &gradient = arrays.operands.input_gradients[input];
      if (!gradient) continue;
      const double scale = largest_of(gradient);
      // A few elements of large arrays; the step is a power of two, and so exact.
      const size_t stride = std::max<size_t>(1, gradient.size() / 40);
      for (size_t i = 0; i < gradient.size(); i += stride) {
        float &element = arrays.operands.inputs[input].data()[i];
        const float before = element;
        constexpr float step = 0x1p-9F;
        element = before + step;
        kernel->forward();
        const double above = arrays.weighed();
        element = before - step;
        kernel->forward();
        const double below = arrays.weighed();
        element = before;
        expect_near(tried, "gradient", i, static_cast<double>(gradient.data()[i]),
                    (above - below) / (2 * static_cast<double>(step)), scale, 2e-2);
      }
    }
  }
}

void test_back_ends_agree(void **) {
  for (const char *name : nn::backend_names()) {
    const auto backend = nn::open_backend(name);
    for (const OperationCase &tried : all_cases()) {
      const Arrays expected(tried);
      const auto reference = nn::make_reference_kernel(tried.operation, expected.operands);
      const Arrays found(tried);
      const auto kernel = backend->make(tried.operation, found.operands);
      if (!kernel) continue;
      // Twice: nothing of the first step may be left in the second.
      for (int step = 0; step < 2; ++step) {
        reference->forward();
        reference->backward();
        kernel->forward();
        kernel->backward();
      }
      compare(tried, "result", found.operands.outputs, expected.operands.outputs);
      compare(tried, "gradient", found.operands.input_gradients, expected.operands.input_gradients);
    }
  }
}

}  // namespace
}  // namespace det::test

int test_operations() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_gradients_are_finite_differences),
      cmocka_unit_test(test_back_ends_agree),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
