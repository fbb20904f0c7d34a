// Optimizers and schedules against TensorFlow's: tests/data/nn/optimizers, schedules.
#include "wrappers/nn/optimizers/optimizer.h"

#include <cmath>

#include "core/base/json.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/nn/recorded/fixture.h"
#include "tests/nn/suite/back_ends.h"
#include "wrappers/nn/arrays/array_copy.h"
#include "wrappers/nn/backend.h"

namespace det::test {
namespace {

using nn::Array;

const std::vector<std::string> weight_names{"kernel", "bias"};

nn::Weights weights_of(const Fixture &fixture, nn::Backend *backend) {
  nn::Weights weights;
  const auto zeros = nn::make_initializer("zeros", "a test");
  for (const std::string &name : weight_names)
    weights.find_or_add(name, {fixture["data/weights/" + name].shape(), zeros});
  weights.settle(0, backend);
  for (size_t i = 0; i < weight_names.size(); ++i)
    nn::copy_elements(fixture["data/weights/" + weight_names[i]], weights.at(i).value, "a weight");
  return weights;
}

// Those of one weight, from where the weight lies among all of them.
Array slot_of_weight(const nn::Weights &weights, const nn::Optimizer::Slot &slot, size_t index) {
  const Array &value = weights.at(index).value;
  const auto offset =
      static_cast<const char *>(value.raw()) - static_cast<const char *>(weights.trained().raw());
  return {value.type(), slot.values, static_cast<size_t>(offset)};
}

// TensorFlow's name of a slot has that of the weight in it, and one of ours that is at its end or
// before it: "Adam/m/kernel", "Adam/kernel/m".
void compare_slots(const Fixture &fixture, const Json &about, const std::string &name,
                   const nn::Weights &weights, const nn::Optimizer &optimizer, size_t step) {
  for (size_t at = 0; at < about["slots"].size(); ++at) {
    const auto theirs = about["slots"][at].get<std::string>();
    for (const nn::Optimizer::Slot &slot : optimizer.slots())
      for (size_t i = 0; i < weight_names.size(); ++i)
        if (theirs.ends_with("/" + slot.name + "/" + weight_names[i]) ||
            theirs.ends_with(weight_names[i] + "/" + slot.name))
          expect_recorded(slot_of_weight(weights, slot, i),
                          part_of(fixture[name + "/slots/" + std::to_string(at)], step), 1e-6,
                          theirs + " after step " + std::to_string(step));
  }
}

void compare_optimizers(const Fixture &fixture, nn::Backend &backend) {
  fixture.for_each([&](const Json &about, const std::string &name) {
    const nn::Weights weights = weights_of(fixture, &backend);
    const auto optimizer = nn::make_optimizer(about["optimizer"]);
    optimizer->attach(weights, backend);
    for (size_t step = 0; step < 5; ++step) {
      for (size_t i = 0; i < weight_names.size(); ++i)
        nn::copy_elements(part_of(fixture["data/gradients/" + weight_names[i]], step),
                          weights.at(i).gradient, "a gradient");
      optimizer->apply(weights, backend);
      backend.synchronize();
      for (size_t i = 0; i < weight_names.size(); ++i)
        expect_recorded(weights.at(i).value,
                        part_of(fixture[name + "/weights/" + weight_names[i]], step), 1e-6,
                        weight_names[i] + " after step " + std::to_string(step));
      compare_slots(fixture, about, name, weights, *optimizer, step);
    }
  });
}

void compare_optimizers(const char *file) {
  const Fixture fixture(file);
  for (const std::string &name : compared_back_ends())
    compare_optimizers(fixture, *nn::open_backend(name));
}

void test_optimizers_of_keras(void **) { compare_optimizers("optimizers/keras"); }
void test_older_optimizers_of_keras(void **) { compare_optimizers("optimizers/legacy"); }
void test_optimizers_of_tensorflow_1(void **) { compare_optimizers("optimizers/v1"); }

void test_schedules(void **) {
  Fixture("schedules/values").for_each([](const Json &about, const std::string &name) {
    const auto schedule = nn::make_schedule(about["schedule"], "a test");
    for (size_t i = 0; i < about["steps"].size(); ++i) {
      const auto expected = about["rates"][i].get<double>();
      expect_recorded(schedule->at(about["steps"][i]), expected, 1e-6 * (0.1 + expected),
                      name + " at step " + about["steps"][i].dump());
    }
  });
}

Json optimizer(const char *class_name, Json config) {
  return {{"class_name", class_name}, {"config", std::move(config)}};
}

void test_wrong_configurations_are_refused(void **) {
  const auto message = expect_error(Code::invalid, [] { nn::make_optimizer("adm"); });
  assert_true(contains(message, "did you mean 'adam'"));
  const std::vector<Json> wrong{
      optimizer("Adam", {{"clipnorm", 1}, {"clipvalue", 1}}),
      optimizer("Adam", {{"clipnorm", -1}}),
      optimizer("Adam", {{"beta1", 0.5}}),
      optimizer("Adam", {{"learning_rate", "fast"}}),
      optimizer("Adam", {{"learning_rate", -1}}),
      optimizer("Adam", {{"learning_rate", NAN}}),
      optimizer("Adam", {{"learning_rate", INFINITY}}),
      optimizer("SGD", {{"use_ema", true}, {"ema_momentum", 2}}),
      optimizer("SGD", {{"learning_rate", optimizer("Falling", Json::object())}}),
      optimizer("SGD", {{"learning_rate", optimizer("CosineDecay", {{"initial_learning_rate", 1},
                                                                    {"decay_steps", 0}})}}),
      Json(3)};
  for (const Json &one : wrong) expect_error(Code::invalid, [&] { nn::make_optimizer(one); });
}

void test_the_rate_is_set_unless_a_schedule_says_it(void **) {
  const auto by_number = nn::make_optimizer("sgd");
  by_number->set_learning_rate(0.5);
  assert_true(by_number->learning_rate() == 0.5);
  for (const double wrong : {-1.0, static_cast<double>(NAN)})
    expect_error(Code::invalid, [&] { by_number->set_learning_rate(wrong); });
  const auto by_schedule = nn::make_optimizer(optimizer(
      "SGD", {{"learning_rate",
               optimizer("InverseTimeDecay",
                         {{"initial_learning_rate", 1}, {"decay_steps", 1}, {"decay_rate", 1}})}}));
  expect_error(Code::state, [&] { by_schedule->set_learning_rate(0.5); });
  by_schedule->set_iterations(3);
  assert_true(by_schedule->learning_rate() == 0.25);
}

// 1 - (1 + 2^-12 + 2^-26), of which a float keeps no more than 2^-12 behind the product; multiplied
// and added at once, as some processors can, it would be another number.
void test_each_product_is_rounded_on_every_processor(void **) {
  nn::Weights weights;
  weights.find_or_add("kernel", {{64}, nn::make_initializer("ones", "a test")});
  weights.settle(0);
  const float above_one = 1 + 0x1p-13F;
  for (float &gradient : weights.at(0).gradient.elements()) gradient = above_one;
  const auto descent = nn::make_optimizer(optimizer("SGD", {{"learning_rate", above_one}}));
  const auto backend = nn::open_backend("reference");
  descent->attach(weights, *backend);
  descent->apply(weights, *backend);
  for (const float value : weights.at(0).value.elements()) assert_true(value == -0x1p-12F);
}

}  // namespace
}  // namespace det::test

int test_recorded_optimizers() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_optimizers_of_keras),
      cmocka_unit_test(test_older_optimizers_of_keras),
      cmocka_unit_test(test_optimizers_of_tensorflow_1),
      cmocka_unit_test(test_schedules),
      cmocka_unit_test(test_wrong_configurations_are_refused),
      cmocka_unit_test(test_the_rate_is_set_unless_a_schedule_says_it),
      cmocka_unit_test(test_each_product_is_rounded_on_every_processor),
  };
  return cmocka_run_group_tests_name("recorded_optimizers", tests, nullptr, nullptr);
}
