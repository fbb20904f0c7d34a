// What optimizers do with weights is done by the back end: here on memory that it alone reaches.
#include "wrappers/nn/optimizers/optimizer.h"

#include <limits>

#include "core/base/json.h"
#include "tests/cmocka.h"
#include "tests/nn/suite/far_backend.h"
#include "tests/nn/suite/operation_case.h"
#include "tests/nn/suite/optimizer_cases.h"
#include "tests/nn/suite/small_model.h"

namespace det::test {
namespace {

using nn::Array;
using Calls = std::set<std::string>;

nn::Weights weights_on(nn::Backend &backend) {
  nn::Weights weights;
  weights.find_or_add("kernel", {{5, 7}, nn::make_initializer("glorot_uniform", "a test")});
  weights.find_or_add("bias", {{7}, nn::make_initializer("ones", "a test")});
  weights.settle(1, &backend);
  return weights;
}

void expect_same(const Array &got, const Array &expected) {
  assert_memory_equal(got.raw(), expected.raw(), expected.bytes());
}

// The same steps near and far, with the same bits. Gives what the far ones called.
Calls calls_of(const Json &config) {
  const auto near = nn::open_backend("reference");
  FarBackend far;
  const nn::Weights near_weights = weights_on(*near);
  const nn::Weights far_weights = weights_on(far);
  const auto near_optimizer = nn::make_optimizer(config);
  const auto far_optimizer = nn::make_optimizer(config);
  near_optimizer->attach(near_weights, *near);
  far.memory.close();
  far_optimizer->attach(far_weights, far);
  far.memory.open();
  for (const nn::Optimizer::Slot &slot : far_optimizer->slots())
    assert_true(far.memory.has(slot.values.raw()));
  for (unsigned step = 0; step < 4; ++step) {
    for (const nn::Weights *weights : {&near_weights, &far_weights}) {
      fill_randomly(weights->gradients(), step);
      if (step == 1) weights->gradients().data()[3] = std::numeric_limits<float>::infinity();
    }
    near_optimizer->apply(near_weights, *near);
    far.memory.close();
    far_optimizer->apply(far_weights, far);
    far.memory.open();
    expect_same(far_weights.trained(), near_weights.trained());
    expect_same(far_weights.gradients(), near_weights.gradients());
    for (size_t i = 0; i < near_optimizer->slots().size(); ++i)
      expect_same(far_optimizer->slots()[i].values, near_optimizer->slots()[i].values);
  }
  return far.arithmetic().calls;
}

void test_each_rule_is_the_back_ends(void **) {
  for (const Json &config : optimizers_of_each_rule())
    assert_true(calls_of(config) == Calls{"update"});
}

void test_slots_begin_there(void **) {
  for (const Json &config : optimizers_of_filled_slots())
    assert_true(calls_of(config) == Calls({"fill", "update"}));
}

void test_all_else_of_a_step_is_done_there(void **) {
  const auto calls = [](Json config) { return calls_of(layer("SGD", std::move(config))); };
  const Calls shortening{"shorten", "update"};
  assert_true(calls({{"clipnorm", 0.5}}) == shortening);
  assert_true(calls({{"global_clipnorm", 0.5}}) == shortening);
  assert_true(calls({{"clipvalue", 0.5}}) == Calls({"limit", "update"}));
  assert_true(calls({{"weight_decay", 0.5}}) == Calls({"decay", "update"}));
  const Json average{{"use_ema", true}, {"ema_overwrite_frequency", 3}};
  assert_true(calls(average) == Calls({"copy", "follow", "update"}));
  assert_true(calls_of(layer("LossScaleOptimizer", {{"inner_optimizer", "sgd"}})) ==
              Calls({"scale_and_check", "update"}));
}

}  // namespace
}  // namespace det::test

int test_weight_arithmetic() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_each_rule_is_the_back_ends),
      cmocka_unit_test(test_slots_begin_there),
      cmocka_unit_test(test_all_else_of_a_step_is_done_there),
  };
  return cmocka_run_group_tests_name("weight_arithmetic", tests, nullptr, nullptr);
}
