// Losses that are scaled, beside what tests/data/nn/training/mixed says of them.
#include "wrappers/nn/model/model.h"

#include <limits>

#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/nn/suite/small_model.h"

namespace det::test {
namespace {

nn::Model scaled_model(const Json &scale) {
  nn::Model model(small_model(), {1, "reference"});
  Json config = scale;
  config["inner_optimizer"] = layer("SGD", {{"learning_rate", 0.5}});
  model.compile(sparse_losses(layer("LossScaleOptimizer", config)));
  return model;
}

std::vector<float> trained_values(const nn::Model &model) {
  const auto values = model.weights().trained().elements();
  return {values.begin(), values.end()};
}

// Ranks add gradients up before that, and so skip the same steps.
void test_gradients_as_they_are_applied_decide_about_a_step(void **) {
  nn::Model model = scaled_model({{"initial_scale", 8}, {"dynamic_growth_steps", 2}});
  bool is_applied = true, is_finite = true;
  model.observe_gradients({{}, [&] {
                             if (!is_finite)
                               model.weights().at(1).gradient.data()[0] =
                                   std::numeric_limits<float>::infinity();
                             return is_applied;
                           }});
  const auto step_gives = [&](float scale, bool changes) {
    const std::vector<float> before = trained_values(model);
    const int64_t iterations = model.training().optimizer().iterations();
    model.train_on_batch(batch_of(8));
    assert_true(model.training().optimizer().loss_scale()->state().scale == scale);
    assert_int_equal(trained_values(model) != before, changes);
    assert_int_equal(model.training().optimizer().iterations(), iterations + 1);
  };
  step_gives(8, true);
  is_finite = false;
  step_gives(4, false);
  // Gradients that are kept for a later step say nothing yet.
  is_applied = false;
  step_gives(4, false);
  is_applied = is_finite = true;
  step_gives(4, true);
  step_gives(8, true);
}

void test_a_scale_does_not_fall_below_1(void **) {
  nn::Model model = scaled_model({{"initial_scale", 1.5}});
  model.observe_gradients({{}, [&] {
                             model.weights().at(1).gradient.data()[0] =
                                 std::numeric_limits<float>::infinity();
                             return true;
                           }});
  for (int step = 0; step < 2; ++step) {
    model.train_on_batch(batch_of(8));
    assert_true(model.training().optimizer().loss_scale()->state().scale == 1);
  }
}

// To the bit: it is a power of two.
void test_a_scaled_loss_trains_the_same_and_is_told_unscaled(void **) {
  nn::Model plain(small_model(), {1, "reference"});
  plain.compile(sparse_losses(layer("SGD", {{"learning_rate", 0.5}})));
  nn::Model scaled = scaled_model({{"dynamic", false}, {"initial_scale", 1024}});
  for (nn::Model *model : {&plain, &scaled})
    for (int step = 0; step < 5; ++step) model->train_on_batch(batch_of(16));
  assert_true(trained_values(scaled) == trained_values(plain));
  assert_true(scaled.training().metrics() == plain.training().metrics());
}

void test_a_loss_is_scaled_where_a_layer_computes_in_f16(void **) {
  const auto is_scaled = [](const char *policy) {
    Json described = small_model();
    described["config"]["layers"][2]["config"]["dtype"] = policy;
    nn::Model model(described, {1, "reference"});
    model.compile(sparse_losses("sgd"));
    return model.training().optimizer().loss_scale().has_value();
  };
  assert_false(is_scaled("float32"));
  assert_false(is_scaled("mixed_bfloat16"));
  assert_true(is_scaled("mixed_float16"));
}

void test_scales_that_cannot_be_are_refused(void **) {
  const auto refuse = [](const Json &scale) {
    return expect_error(Code::invalid, [&] { scaled_model(scale); });
  };
  assert_true(contains(refuse({{"dynamic", false}}), "'initial_scale' is missing"));
  assert_true(contains(refuse({{"initial_scale", 0}}), "above 0"));
  assert_true(
      contains(refuse({{"dynamic", false}, {"initial_scale", 2}, {"dynamic_growth_steps", 1}}),
               "not 'dynamic'"));
  assert_true(contains(refuse({{"initial_scal", 1}}), "did you mean 'initial_scale'"));
}

}  // namespace
}  // namespace det::test

int test_loss_scale() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_gradients_as_they_are_applied_decide_about_a_step),
      cmocka_unit_test(test_a_scale_does_not_fall_below_1),
      cmocka_unit_test(test_a_scaled_loss_trains_the_same_and_is_told_unscaled),
      cmocka_unit_test(test_a_loss_is_scaled_where_a_layer_computes_in_f16),
      cmocka_unit_test(test_scales_that_cannot_be_are_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
