// Layers along axes that there are not, moments that fit none, and fields that are too small.
#include "core/base/error.h"
#include "core/base/json.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/nn/suite/operation_case.h"
#include "wrappers/nn/layers/layer.h"

namespace det::test {
namespace {

// What is said of a layer that is called with (2, 3, 4).
std::string refusal(const char *class_name, Json config, Code code = Code::invalid,
                    const nn::ArrayType &type = floats({2, 3, 4})) {
  config["name"] = "refused";
  return expect_error(code, [&] {
    const auto layer = nn::make_layer({{"class_name", class_name}, {"config", config}});
    nn::Weights weights;
    nn::ProgramBuilder builder(weights, false);
    layer->call(builder, {{builder.feed(type)}, {}, {}});
  });
}

void test_axes(void **) {
  for (const char *class_name : {"Softmax", "Normalization"}) {
    assert_true(contains(refusal(class_name, {{"axis", 3}}), "there is no axis 3 in (2, 3, 4)"));
    assert_true(contains(refusal(class_name, {{"axis", 0}}), "'axis' 0 is that of the batch"));
    assert_true(contains(refusal(class_name, {{"axis", {1, -2}}}), "'axis' -2 is named twice"));
    assert_true(contains(refusal(class_name, {{"axis", "last"}}), "a whole number or several"));
    assert_true(contains(refusal(class_name, {{"axis", {1, 0.5}}}), "a whole number or several"));
  }
  assert_true(contains(refusal("Softmax", {{"axis", nullptr}}), "'axis' names no axis"));
}

void test_moments(void **) {
  const auto moments = [](const Json &mean, const Json &variance) {
    return refusal("Normalization", {{"mean", mean}, {"variance", variance}});
  };
  assert_true(contains(moments(1, nullptr), "are given both, or none of them"));
  assert_true(contains(moments({1, 2, 3}, 1), "its 'mean' has 3 numbers, and the axes"));
  assert_true(contains(moments(1, {1, 2, 3}), "its 'variance' has 3 numbers"));
  assert_true(contains(moments(1, -0.5), "a 'variance' is below 0"));
  assert_true(contains(moments("one", 1), "'mean' must be a number or an array of numbers"));
  assert_true(contains(moments(Json::array(), 1), "'mean' must be a number"));
  assert_true(contains(refusal("Normalization", {}, Code::unsupported, ints({2, 3})),
                       "with whole numbers: it takes real ones"));
}

void test_fields_of_relu(void **) {
  for (const char *key : {"max_value", "negative_slope", "threshold"})
    assert_true(contains(refusal("ReLU", {{key, -0.5}}),
                         "'" + std::string(key) + "' is -0.5, and must be 0 or more"));
}

void test_regularizers_of_activities(void **) {
  const auto told = refusal("Dense", {{"units", 2}, {"activity_regularizer", "l3"}});
  assert_true(contains(told, "there is no regularizer 'l3'"));
}

}  // namespace
}  // namespace det::test

int test_refused_axes() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_axes),
      cmocka_unit_test(test_moments),
      cmocka_unit_test(test_fields_of_relu),
      cmocka_unit_test(test_regularizers_of_activities),
  };
  return cmocka_run_group_tests_name("refused_axes", tests, nullptr, nullptr);
}
