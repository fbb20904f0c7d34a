// Initializers: the distributions that Keras' have, by tests/data/nn/initializers.
#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/nn/recorded/fixture.h"
#include "wrappers/nn/weights/initializer.h"

namespace det::test {
namespace {

using nn::Array;

Array filled(const Json &about) {
  const Array array({about["shape"].get<nn::Shape>(), nn::Dtype::f32});
  nn::RandomStream random(3, 0);
  nn::make_initializer(about["initializer"], "a test")
      ->fill(array.elements(), array.shape(), random);
  return array;
}

void compare_distribution(const Json &about, const Array &array) {
  double sum = 0;
  double squares = 0;
  for (const float value : array.elements()) sum += static_cast<double>(value);
  const double mean = sum / static_cast<double>(array.size());
  for (const float value : array.elements())
    squares += (static_cast<double>(value) - mean) * (static_cast<double>(value) - mean);
  const double deviation = about["deviation"];
  expect_recorded(mean, about["mean"], 0.03 * deviation, "the mean");
  expect_recorded(std::sqrt(squares / static_cast<double>(array.size())), deviation,
                  0.03 * deviation, "the deviation");
  if (!about.contains("low")) return;
  const auto values = array.elements();
  const auto ends = std::minmax_element(values.begin(), values.end());
  const double low = about["low"];
  const double high = about["high"];
  expect_recorded(static_cast<double>(*ends.first), low, 0.03 * (high - low), "the smallest");
  expect_recorded(static_cast<double>(*ends.second), high, 0.03 * (high - low), "the largest");
  assert_true(static_cast<double>(*ends.first) >= low - 1e-6 * (high - low));
  assert_true(static_cast<double>(*ends.second) <= high + 1e-6 * (high - low));
}

// The products of the vectors of the shorter side: gain * gain of each with itself, else 0.
void compare_angles(const Json &about, const Array &array) {
  const auto columns = static_cast<size_t>(array.shape().back());
  const size_t rows = array.size() / columns;
  const bool is_tall = rows >= columns;
  const double gain = about["gain"];
  for (size_t a = 0; a < std::min(rows, columns); ++a)
    for (size_t b = 0; b <= a; ++b) {
      double product = 0;
      for (size_t i = 0; i < std::max(rows, columns); ++i) {
        const auto at = [&](size_t v) { return is_tall ? i * columns + v : v * columns + i; };
        product +=
            static_cast<double>(array.data()[at(a)]) * static_cast<double>(array.data()[at(b)]);
      }
      expect_recorded(product, a == b ? gain * gain : 0, 1e-6, "a product of vectors");
    }
}

void test_distributions(void **) {
  const Fixture fixture("initializers/values");
  fixture.for_each(
      [&](const Json &about, const std::string &name) {
        const Array array = filled(about);
        if (about.contains("gain")) compare_angles(about, array);
        else if (about.contains("mean")) compare_distribution(about, array);
        else expect_recorded(array, fixture[name + "/values"], 0, "the weight");
      },
      {"constant_list"});
}

void test_wrong_initializers_are_refused(void **) {
  const auto make = [](const Json &config) { nn::make_initializer(config, "a test"); };
  const auto message = expect_error(Code::invalid, [&] { make("glorot_unifrm"); });
  assert_true(contains(message, "did you mean 'glorot_uniform'"));
  const auto scaling = [](Json config) {
    return Json{{"class_name", "VarianceScaling"}, {"config", std::move(config)}};
  };
  expect_error(Code::invalid, [&] { make(scaling({{"scale", 0}})); });
  expect_error(Code::invalid, [&] { make(scaling({{"mode", "fan_inn"}})); });
  expect_error(Code::invalid, [&] { filled({{"initializer", "orthogonal"}, {"shape", {4}}}); });
}

}  // namespace
}  // namespace det::test

int test_recorded_initializers() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_distributions),
      cmocka_unit_test(test_wrong_initializers_are_refused),
  };
  return cmocka_run_group_tests_name("recorded_initializers", tests, nullptr, nullptr);
}
