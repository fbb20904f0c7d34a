// Numbers that are not finite, found at the step with the layer.
#include "wrappers/nn/model/model.h"

#include <limits>

#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/nn/suite/small_model.h"
#include "wrappers/nn/arithmetic/element_functions.h"

namespace det::test {
namespace {

using nn::Model;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinite = std::numeric_limits<float>::infinity();

Json checked(Json options) {
  options["check_numerics"] = true;
  return options;
}

Model checked_model(const char *backend, const Json &described = small_model()) {
  Model model(described, {1, backend});
  model.compile(checked(sparse_losses(layer("SGD", {{"learning_rate", 0.5}}))));
  return model;
}

std::vector<float> all_values(const Model &model) {
  std::vector<float> values;
  for (const nn::Weight &weight : model.weights().all())
    values.insert(values.end(), weight.value.elements().begin(), weight.value.elements().end());
  return values;
}

// That a step is refused, has not been, and that the model trains on.
std::string refused_step(Model &model, const nn::Batch &batch) {
  const std::vector<float> before = all_values(model);
  const int64_t steps = model.steps();
  const std::string told = expect_error(Code::invalid, [&] { model.train_on_batch(batch); });
  assert_true(all_values(model) == before);
  assert_int_equal(model.steps(), steps);
  assert_int_equal(model.training().optimizer().iterations(), steps);
  return told;
}

void test_inputs_weights_and_truths_are_told_first(void **) {
  for (const char *backend : nn::backend_names()) {
    Model model = checked_model(backend);
    model.train_on_batch(batch_of(4));
    nn::Batch wrong = batch_of(4);
    wrong.inputs[0].data()[3 * 6 + 1] = nan;
    const std::string told = refused_step(model, wrong);
    assert_true(contains(told, "training step 2 of the model 'small'"));
    assert_true(contains(told, "the input 'x' is nan in record 3"));
    assert_true(contains(expect_error(Code::invalid, [&] { model.test_on_batch(wrong); }),
                         "testing the model 'small'"));
    model.train_on_batch(batch_of(4));

    wrong = batch_of(4);
    wrong.weights = {nn::Array(floats({4}))};
    wrong.weights[0].data()[2] = infinite;
    assert_true(contains(refused_step(model, wrong),
                         "the weight of a record of 'dense_1' is inf in record 2"));

    // A NaN that is itself would not compare equal before and after.
    model.weights().at(3).value.data()[0] = infinite;
    assert_true(contains(refused_step(model, batch_of(4)), "the weight 'dense_1/bias' is inf"));
  }
}

void test_the_layer_that_is_the_first_is_named(void **) {
  const auto exploding = [](Json last) {
    return sequential({layer("Flatten", {{"batch_input_shape", {nullptr, 2, 3}}}),
                       layer("BatchNormalization", Json::object()),
                       layer("Rescaling", {{"scale", 1e30}}), layer("Rescaling", {{"scale", 1e30}}),
                       std::move(last)});
  };
  Model model = checked_model("reference", exploding(layer("Dense", {{"units", 3}})));
  const std::string told = refused_step(model, batch_of(4));
  assert_true(contains(told,
                       "the first that is not finite is the result of the layer 'rescaling_1' "
                       "(Rescaling): "));
  assert_true(contains(told, "inf in record 0"));

  // Numbers that only the loss makes too large.
  Model squared(sequential({layer("Flatten", {{"batch_input_shape", {nullptr, 2, 3}}}),
                            layer("Rescaling", {{"scale", 1e30}})}),
                {1, "reference"});
  squared.compile(checked({{"optimizer", "sgd"}, {"loss", "mse"}}));
  const nn::Batch batch{batch_of(4).inputs, {nn::Array(floats({4, 6}))}, {}};
  assert_true(contains(expect_error(Code::invalid, [&] { squared.test_on_batch(batch); }),
                       "the result of the loss: inf"));
}

// What becomes smaller and larger again is larger and smaller on the way back.
void test_gradients_are_looked_at_too(void **) {
  Model model(sequential({layer("Dense", {{"units", 2}, {"batch_input_shape", {nullptr, 2, 3}}}),
                          layer("Flatten", Json::object()), layer("Rescaling", {{"scale", 1e-25}}),
                          layer("Rescaling", {{"scale", 1e25}})}),
              {1, "reference"});
  model.compile(checked({{"optimizer", "sgd"}, {"loss", "mae"}, {"loss_weights", {1e30}}}));
  const nn::Batch batch{batch_of(2).inputs, {nn::Array(floats({2, 4}))}, {}};
  const std::string told = expect_error(Code::invalid, [&] { model.train_on_batch(batch); });
  assert_true(contains(told,
                       "the gradient that goes back from the layer 'rescaling_1' "
                       "(Rescaling): "));
}

// oneDNN's has it become 0.
void test_no_plain_loop_hides_what_is_no_number(void **) {
  for (int i = 0; i <= static_cast<int>(nn::Activation::leaky_relu); ++i)
    assert_true(std::isnan(nn::activate(static_cast<nn::Activation>(i), nan)));
  assert_true(std::isnan(nn::ReluOp{0, 0.5F, 2}.activate(nan)));
  for (const char *backend : nn::backend_names()) {
    Model model = checked_model(
        backend, sequential({layer("Flatten", {{"batch_input_shape", {nullptr, 2, 3}}}),
                             layer("Dense", {{"units", 3}, {"activation", "relu"}})}));
    nn::Batch wrong = batch_of(4);
    wrong.inputs[0].data()[0] = nan;
    assert_true(contains(refused_step(model, wrong), "is nan in record 0"));
  }
}

// As another rank would.
void test_what_is_added_to_gradients_is_no_layers_fault(void **) {
  Model model = checked_model("reference");
  model.observe_gradients(
      {[&](size_t weight) { model.weights().at(weight).gradient.data()[0] = nan; }, {}});
  assert_true(contains(refused_step(model, batch_of(4)), "other ranks, or a callback"));
}

void test_nothing_is_looked_at_unless_asked_for(void **) {
  Model model(small_model(), {1, "reference"});
  model.compile(sparse_losses("sgd"));
  nn::Batch wrong = batch_of(4);
  wrong.inputs[0].data()[0] = nan;
  model.train_on_batch(wrong);
  assert_int_equal(model.steps(), 1);
}

// The scale is for that.
void test_gradients_of_a_scaled_loss_may_be_too_large(void **) {
  Model model(small_model(), {1, "reference"});
  model.compile(checked(sparse_losses(
      layer("LossScaleOptimizer", {{"inner_optimizer", "sgd"}, {"initial_scale", 3e38}}))));
  nn::Batch batch = batch_of(4);
  for (float &value : batch.inputs[0].elements()) value *= 100;
  model.train_on_batch(batch);
  assert_true(model.training().optimizer().loss_scale()->state().scale == 1.5e38F);
}

}  // namespace
}  // namespace det::test

int test_numeric_check() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_inputs_weights_and_truths_are_told_first),
      cmocka_unit_test(test_the_layer_that_is_the_first_is_named),
      cmocka_unit_test(test_gradients_are_looked_at_too),
      cmocka_unit_test(test_no_plain_loop_hides_what_is_no_number),
      cmocka_unit_test(test_what_is_added_to_gradients_is_no_layers_fault),
      cmocka_unit_test(test_nothing_is_looked_at_unless_asked_for),
      cmocka_unit_test(test_gradients_of_a_scaled_loss_may_be_too_large),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
