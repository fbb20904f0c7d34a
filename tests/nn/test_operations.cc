// Every operation on every back end: the results and gradients of the plain loops, and gradients
// that are those of finite differences.
#include <algorithm>
#include <array>
#include <cmath>

#include "tests/cmocka.h"
#include "tests/nn/suite/operation_suite.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::test {
namespace {

using nn::Array;

void test_gradients_are_finite_differences(void **) {
  const auto loops = nn::open_reference_backend();
  for (const OperationCase &tried : all_cases()) {
    const OperationArrays arrays(tried, *loops);
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

// Each of the four ways about as often, at every step anew.
void test_images_are_mirrored_by_chance(void **) {
  nn::RandomImageOp op;
  op.across = op.down = true;
  const OperationCase tried{"mirror", op, {floats({400, 2, 2, 1})}};
  const auto loops = nn::open_reference_backend();
  OperationArrays arrays(tried, *loops);
  const auto kernel = nn::make_reference_kernel(op, arrays.operands);
  kernel->forward();
  const Array &x = arrays.operands.inputs[0], &y = arrays.operands.outputs[0];
  std::array<int, 4> counts{};
  for (size_t record = 0; record < 400; ++record) {
    const float *const from = x.data() + record * 4, *const to = y.data() + record * 4;
    const auto place = static_cast<size_t>(std::find(from, from + 4, to[0]) - from);
    assert_true(place < 4);
    for (size_t i = 0; i < 4; ++i) assert_true(to[i] == from[i ^ place]);
    ++counts[place];
  }
  for (const int count : counts) assert_in_range(count, 70, 130);
  const std::vector<float> first(y.data(), y.data() + y.size());
  ++arrays.state.step;
  kernel->forward();
  assert_false(std::equal(first.begin(), first.end(), y.data()));
}

void test_back_ends_agree(void **) {
  for (const char *name : nn::backend_names())
    for (const int threads : {1, 3}) compare_with_loops(*nn::open_backend(name, threads));
}

}  // namespace
}  // namespace det::test

int test_operations() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_gradients_are_finite_differences),
      cmocka_unit_test(test_images_are_mirrored_by_chance),
      cmocka_unit_test(test_back_ends_agree),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
