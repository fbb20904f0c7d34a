// Activations of many elements at once, against those of single ones in double precision.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/cmocka.h"
#include "wrappers/nn/arithmetic/element_functions.h"
#include "wrappers/nn/arithmetic/row_arithmetic.h"

namespace det::test {
namespace {

using nn::Activation;

// How far off it may be: where it is denormal, by a little that is absolute.
double units(double exact, double count) {
  return std::max(std::fabs(exact) * count * std::numeric_limits<float>::epsilon() / 2, 2e-38);
}

double exact(Activation activation, double x) {
  return activation == Activation::tanh ? std::tanh(x) : 1 / (1 + std::exp(-x));
}

// From the smallest numbers to those where nothing changes any more, of an odd count.
std::vector<float> numbers() {
  std::vector<float> all{0, -0.0F};
  for (float x = 1e-30F; x < 200; x *= 1.0007F) {
    all.push_back(x);
    all.push_back(-x);
  }
  all.push_back(std::numeric_limits<float>::infinity());
  return all;
}

void test_values_are_exact_to_a_few_units(void **) {
  for (const Activation activation : {Activation::sigmoid, Activation::tanh}) {
    const std::vector<float> x = numbers();
    std::vector<float> y = x;
    nn::activate_all(activation, y.data(), y.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = exact(activation, static_cast<double>(x[i]));
      if (std::fabs(static_cast<double>(y[i]) - expected) <= units(expected, 8)) continue;
      print_error("%s of %.9g: %.9g, not %.9g\n", nn::name_of(activation),
                  static_cast<double>(x[i]), static_cast<double>(y[i]), expected);
      assert_true(false);
    }
  }
}

void test_signs_and_nan_stay(void **) {
  for (const Activation activation : {Activation::sigmoid, Activation::tanh}) {
    std::vector<float> values(35, std::numeric_limits<float>::quiet_NaN());
    nn::activate_all(activation, values.data(), values.size());
    for (const float value : values) assert_true(std::isnan(value));
  }
  float zero = -0.0F;
  nn::activate_all(Activation::tanh, &zero, 1);
  assert_true(std::signbit(zero));
}

// The bits of an element do not depend on what it lies beside.
void test_elements_are_by_themselves(void **) {
  for (const Activation activation :
       {Activation::sigmoid, Activation::tanh, Activation::softplus}) {
    std::vector<float> together = numbers();
    std::vector<float> alone = together;
    nn::activate_all(activation, together.data(), together.size());
    for (float &value : alone) nn::activate_all(activation, &value, 1);
    assert_memory_equal(together.data(), alone.data(), together.size() * sizeof(float));
  }
}

void test_slopes_are_those_of_single_elements(void **) {
  for (const Activation activation :
       {Activation::linear, Activation::sigmoid, Activation::tanh, Activation::silu}) {
    std::vector<float> x;
    for (int i = -40; i <= 40; ++i) x.push_back(static_cast<float>(i) / 8);
    std::vector<float> y = x;
    nn::activate_all(activation, y.data(), y.size());
    std::vector<float> slopes(x.size());
    nn::derive_all(activation, x.data(), y.data(), slopes.data(), slopes.size());
    for (size_t i = 0; i < x.size(); ++i)
      assert_true(slopes[i] == nn::derivative(activation, x[i], y[i]));
  }
}

}  // namespace
}  // namespace det::test

int test_vectorised_activations() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_values_are_exact_to_a_few_units),
      cmocka_unit_test(test_signs_and_nan_stay),
      cmocka_unit_test(test_elements_are_by_themselves),
      cmocka_unit_test(test_slopes_are_those_of_single_elements),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
