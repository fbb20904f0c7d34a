// Losses against those of Keras: tests/data/nn/losses.
#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/nn/recorded/fixture.h"
#include "tests/nn/suite/back_ends.h"
#include "wrappers/nn/arrays/array_copy.h"
#include "wrappers/nn/losses/loss.h"
#include "wrappers/nn/model/graph.h"
#include "wrappers/nn/program/executable.h"

namespace det::test {
namespace {

using nn::Array;

// What is predicted, or what it is computed from, with a loss of it.
class LossOf {
 public:
  LossOf(const std::string &backend, const Json &loss, const Array &x, const Array &truth,
         const Array *weights, const nn::Graph *graph = nullptr)
      : loss_(nn::make_loss(loss)), backend_(nn::open_backend(backend)) {
    nn::ProgramBuilder builder(weights_, true);
    nn::Value prediction = builder.feed(x.type(), true);
    if (graph != nullptr) prediction = graph->compute(builder, {{prediction}, {}, {}}).at(0);
    const nn::ArrayType type = builder.type(prediction);
    const nn::Value true_value = builder.feed(loss_->truth_for(type));
    std::optional<nn::Value> given;
    if (weights != nullptr) given = builder.feed(weights->type());
    const nn::Value value = loss_->add(builder, true_value, prediction, given);
    program_ = builder.finish({value});
    weights_.settle(0, backend_.get());
    executable_ = std::make_unique<nn::Executable>(program_, weights_, *backend_, state_, 0);
    nn::copy_elements(x, executable_->fed(0), "x");
    nn::copy_elements(truth, executable_->fed(1), "what is true");
    if (weights != nullptr) nn::copy_elements(*weights, executable_->fed(2), "weights");
    loss_->check(executable_->fed(1), truth, type);
  }

  // Where nothing is reduced it is the sum that is made smaller.
  void compare(const Array &value, const Array &gradient, double tolerance) {
    executable_->forward();
    double sum = 0;
    for (const float one : value.elements()) sum += static_cast<double>(one);
    expect_recorded(static_cast<double>(executable_->result(0).data()[0]), sum,
                    tolerance * std::max(1.0, std::fabs(sum)), "the loss");
    executable_->backward();
    expect_recorded(executable_->fed_gradient(0), gradient, tolerance, "the gradient");
  }

 private:
  std::shared_ptr<const nn::Loss> loss_;
  std::shared_ptr<nn::Backend> backend_;
  nn::Weights weights_;
  nn::StepState state_;
  nn::Program program_;
  std::unique_ptr<nn::Executable> executable_;
};

// Of each back end: `compare` is told of it, and of the case.
template <class Compare>
void compare_losses(const Fixture &fixture, const Compare &compare) {
  for (const std::string &backend : compared_back_ends())
    fixture.for_each(
        [&](const Json &about, const std::string &name) { compare(backend, about, name); });
}

void test_values_and_gradients(void **) {
  const Fixture fixture("losses/values");
  compare_losses(fixture,
                 [&](const std::string &backend, const Json &about, const std::string &name) {
                   const auto data = [&](const char *key) -> const Array & {
                     return fixture["data/" + about[key].get<std::string>()];
                   };
                   const Array *weights = about["weights"].is_null() ? nullptr : &data("weights");
                   LossOf(backend, about["loss"], data("predicted"), data("true"), weights)
                       .compare(fixture[name + "/value"], fixture[name + "/gradient"], 2e-6);
                 });
}

// Graphs of TensorFlow fold 1 + epsilon into one number, which near 1 is seen.
void test_logits_are_reached_under_layers(void **) {
  const Fixture fixture("losses/under_layers");
  compare_losses(fixture,
                 [&](const std::string &backend, const Json &about, const std::string &name) {
                   const auto graph = nn::read_model(about["model"]);
                   LossOf(backend, about["loss"], fixture[name + "/x"], fixture[name + "/true"],
                          nullptr, graph.get())
                       .compare(fixture[name + "/value"], fixture[name + "/gradient"], 1e-5);
                 });
}

void test_wrong_losses_are_refused(void **) {
  const auto message = expect_error(Code::invalid, [] { nn::make_loss("mean_squard_error"); });
  assert_true(contains(message, "did you mean 'mean_squared_error'"));
  const auto loss = [](const char *class_name, Json config) {
    return Json{{"class_name", class_name}, {"config", std::move(config)}};
  };
  expect_error(Code::invalid, [&] { nn::make_loss(loss("Huber", {{"deltas", 1}})); });
  expect_error(Code::invalid, [&] {
    nn::make_loss(loss("BinaryCrossentropy", {{"label_smoothing", 2}}));
  });
  const auto told = expect_error(Code::invalid, [&] {
    nn::make_loss(loss("Huber", {{"reduction", "non"}}));
  });
  assert_true(contains(told, "there is no reduction 'non'; did you mean 'none'"));
  expect_error(Code::invalid, [&] { nn::make_loss(Json::array()); });
}

// Of (2, 3, 4): along its last axis there are 6 rows, along that before it 8.
void test_losses_that_are_not_reduced_are_told_by_rows(void **) {
  for (const auto &[axis, rows] : {std::pair{1, 8}, {-2, 8}, {-1, 6}}) {
    const auto loss = nn::make_loss(
        {{"class_name", "CosineSimilarity"}, {"config", {{"axis", axis}, {"reduction", "none"}}}});
    nn::Weights none;
    nn::ProgramBuilder builder(none, false);
    const nn::Value prediction = builder.feed({{2, 3, 4}, nn::Dtype::f32});
    const nn::Value sum = builder.feed({{}, nn::Dtype::f32});
    const nn::Program program = builder.finish({loss->told(builder, sum, prediction)});
    none.settle(0);
    const auto backend = nn::open_backend("reference");
    const nn::StepState state;
    nn::Executable executable(program, none, *backend, state);
    executable.fed(1).data()[0] = 24;
    executable.forward();
    assert_true(executable.result(0).data()[0] == 24 / static_cast<float>(rows));
  }
}

void test_axes_of_losses_are_those_of_predictions(void **) {
  const auto along = [](int axis) {
    return nn::make_loss({{"class_name", "CategoricalCrossentropy"}, {"config", {{"axis", axis}}}});
  };
  assert_true(contains(expect_error(Code::unsupported, [&] { along(0); }),
                       "'axis' is 0, that of the batch"));
  const auto loss = along(2);
  nn::Weights none;
  nn::ProgramBuilder builder(none, false);
  const nn::Value rows = builder.feed({{4, 3}, nn::Dtype::f32});
  const auto told =
      expect_error(Code::invalid, [&] { loss->add(builder, rows, rows, std::nullopt); });
  assert_true(contains(told, "categorical_crossentropy") &&
              contains(told, "there is no axis 2 in (4, 3)"));
}

}  // namespace
}  // namespace det::test

int test_recorded_losses() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_values_and_gradients),
      cmocka_unit_test(test_logits_are_reached_under_layers),
      cmocka_unit_test(test_wrong_losses_are_refused),
      cmocka_unit_test(test_losses_that_are_not_reduced_are_told_by_rows),
      cmocka_unit_test(test_axes_of_losses_are_those_of_predictions),
  };
  return cmocka_run_group_tests_name("recorded_losses", tests, nullptr, nullptr);
}
