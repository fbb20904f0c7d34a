// The back end on GPUs, as far as it goes without one: how its library is found, and refused.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "core/base/half.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/nn/suite/operation_suite.h"
#include "wrappers/nn/backend.h"

namespace det::test {
namespace {

void expect_refused(const char *library, const char *said) {
  setenv("DETNN_CUDA_LIBRARY", library, 1);
  const std::string message = expect_error(Code::unsupported, [] { nn::open_backend("cuda"); });
  if (message.find(said) == std::string::npos) fail_msg("%s", message.c_str());
  // It says what there is without it.
  assert_true(message.find("'onednn' or 'reference'") != std::string::npos);
}

void test_a_library_that_is_not_there(void **) {
  expect_refused("/nowhere/libdetnn-cuda.so.0", "/nowhere/libdetnn-cuda.so.0: cannot open");
}

void test_a_library_of_another_build(void **) {
  expect_refused(OTHER_CUDA_LIBRARY,
                 "is of the build 'of long ago', and this library of the build");
}

void test_a_library_of_another_kind(void **) { expect_refused("libm.so.6", "is of another kind"); }

void test_a_variable_names_the_back_end(void **) {
  setenv("DETNN_BACKEND", "reference", 1);
  assert_string_equal(nn::open_backend("")->name(), "reference");
  setenv("DETNN_BACKEND", "cudda", 1);
  const std::string message = expect_error(Code::invalid, [] { nn::open_backend(""); });
  assert_true(message.find("which DETNN_BACKEND names") != std::string::npos);
  assert_true(message.find("did you mean 'cuda'?") != std::string::npos);
  // What is asked for by name is given.
  assert_string_equal(nn::open_backend("reference")->name(), "reference");
  unsetenv("DETNN_BACKEND");
}

#ifdef EMULATED_CUDA_LIBRARY

void test_emulated_operations(void **) {
  setenv("DETNN_CUDA_LIBRARY", EMULATED_CUDA_LIBRARY, 1);
  const auto left = compare_with_loops(*nn::open_backend("cuda"));
  for (const std::string &name : left) print_message("# left to the loops: %s\n", name.c_str());
}

void test_a_long_embedding(void **) {
  setenv("DETNN_CUDA_LIBRARY", EMULATED_CUDA_LIBRARY, 1);
  assert_true(compare_with_loops(long_embedding(), *nn::open_backend("cuda")));
}

// Which a layer has computed, so that nobody checks them.
void test_ids_that_are_no_rows(void **) {
  setenv("DETNN_CUDA_LIBRARY", EMULATED_CUDA_LIBRARY, 1);
  const auto backend = nn::open_backend("cuda");
  const std::vector<float> ids{1, -1, NAN, 4, 1.5F, 1e20F, 0, -0.5F, -INFINITY, 3.75F};
  const std::vector<float> expected{2, 2, 0, 1};  // how often each row was taken
  const auto fill = [&](size_t input, const nn::Array &array) {
    if (input > 0) return fill_randomly(array, 1);
    std::copy(ids.begin(), ids.end(), array.data());
  };
  const OperationCase tried{"ids", nn::EmbeddingOp{}, {floats({10}), floats({4, 3})}, fill};
  const OperationArrays arrays(tried, *backend);
  for (float &gradient : arrays.operands.output_gradients[0].elements()) gradient = 1;
  const auto kernel = backend->make(tried.operation, arrays.operands);
  kernel->forward();
  kernel->backward();
  backend->synchronize();
  for (size_t i = 0; i < 12; ++i)
    assert_true(arrays.operands.input_gradients[1].data()[i] == expected[i / 3]);
  for (size_t i = 0; i < 30; ++i) {
    const float id = ids[i / 3];
    assert_int_equal(std::isnan(arrays.operands.outputs[0].data()[i]), !(id > -1 && id < 4));
  }
}

float rounded_to(nn::Dtype precision, float number) {
  return precision == nn::Dtype::bf16 ? from_bf16(to_bf16(number)) : from_half(to_half(number));
}

// Of each operation that says so, beside the result itself.
void test_results_are_written_rounded(void **) {
  setenv("DETNN_CUDA_LIBRARY", EMULATED_CUDA_LIBRARY, 1);
  const auto backend = nn::open_backend("cuda");
  std::set<size_t> kinds;
  for (const OperationCase &tried : all_cases()) {
    if (!backend->joins_rounding(tried.operation)) continue;
    kinds.insert(tried.operation.index());
    for (const nn::Dtype precision : {nn::Dtype::bf16, nn::Dtype::f16}) {
      OperationArrays arrays(tried, *backend);
      const nn::Array &plain = arrays.operands.outputs.at(0);
      arrays.operands.rounded = backend->make_array(plain.type());
      arrays.operands.rounded_to = precision;
      const auto kernel = backend->make(tried.operation, arrays.operands);
      kernel->forward();
      backend->synchronize();
      for (size_t i = 0; i < plain.size(); ++i)
        assert_true(arrays.operands.rounded.data()[i] == rounded_to(precision, plain.data()[i]));
    }
  }
  assert_int_equal(kinds.size(), 7);
}

// To the bit: numbers that are rounded before, and numbers that are not.
void test_products_round_what_they_are_given(void **) {
  setenv("DETNN_CUDA_LIBRARY", EMULATED_CUDA_LIBRARY, 1);
  const auto backend = nn::open_backend("cuda");
  const OperationCase cases[] = {
      {"dense", nn::DenseOp{}, {floats({5, 7}), floats({7, 3})}},
      {"product", nn::BatchedMatMulOp{}, {floats({2, 5, 7}), floats({2, 7, 3})}},
  };
  for (const OperationCase &tried : cases)
    for (const nn::Dtype precision : {nn::Dtype::bf16, nn::Dtype::f16}) {
      OperationArrays plain(tried, *backend);
      OperationArrays rounded(tried, *backend);
      for (size_t i = 0; i < 2; ++i) {
        assert_true(backend->rounds_input(tried.operation, i));
        for (float &number : rounded.operands.inputs[i].elements())
          number = rounded_to(precision, number);
        assert_memory_not_equal(rounded.operands.inputs[i].raw(), plain.operands.inputs[i].raw(),
                                plain.operands.inputs[i].bytes());
      }
      for (OperationArrays *arrays : {&plain, &rounded}) {
        arrays->operands.precision = precision;
        const auto kernel = backend->make(tried.operation, arrays->operands);
        kernel->forward();
        kernel->backward();
        backend->synchronize();
      }
      const auto same = [](const nn::Array &one, const nn::Array &other) {
        assert_memory_equal(one.raw(), other.raw(), one.bytes());
      };
      same(plain.operands.outputs[0], rounded.operands.outputs[0]);
      for (size_t i = 0; i < 2; ++i)
        same(plain.operands.input_gradients[i], rounded.operands.input_gradients[i]);
    }
}

#endif

}  // namespace
}  // namespace det::test

int test_cuda() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_a_library_that_is_not_there),
      cmocka_unit_test(test_a_library_of_another_build),
      cmocka_unit_test(test_a_library_of_another_kind),
      cmocka_unit_test(test_a_variable_names_the_back_end),
#ifdef EMULATED_CUDA_LIBRARY
      cmocka_unit_test(test_emulated_operations),
      cmocka_unit_test(test_a_long_embedding),
      cmocka_unit_test(test_ids_that_are_no_rows),
      cmocka_unit_test(test_products_round_what_they_are_given),
      cmocka_unit_test(test_results_are_written_rounded),
#endif
  };
  return cmocka_run_group_tests_name("cuda", tests, nullptr, nullptr);
}
