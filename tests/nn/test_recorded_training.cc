// Steps of training against those of Keras: tests/data/nn/training.
#include "wrappers/nn/model/model.h"

#include "core/base/error.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/nn/recorded/fixture.h"
#include "tests/nn/recorded/recorded_call.h"
#include "tests/nn/suite/back_ends.h"
#include "wrappers/nn/arrays/array_copy.h"

namespace det::test {
namespace {

using nn::Array;

constexpr size_t batches = 3;

class RecordedTraining {
 public:
  RecordedTraining(const Fixture &fixture, const Json &about, const std::string &backend)
      : fixture_(fixture),
        about_(about),
        prefix_(about["name"].get<std::string>() + "/"),
        model_(about["model"], {0, backend}) {
    std::vector<nn::Shape> shapes;
    for (size_t i = 0; i < about["weights"].size(); ++i)
      shapes.push_back(recorded("weights", i).shape());
    if (model_.graph().computes_in(nn::Dtype::f16)) tolerance_ = 3 * 0x1p-10;
    if (model_.graph().computes_in(nn::Dtype::bf16)) tolerance_ = 3 * 0x1p-7;
    places_ = places_of_weights(model_.weights(), about["weights"], shapes);
    for (size_t i = 0; i < places_.size(); ++i)
      nn::copy_elements(recorded("weights", i), weight(i), "a weight");
    Json options;
    for (const char *key : {"optimizer", "loss", "loss_weights", "metrics", "weighted_metrics"})
      options[key] = about[key];
    model_.compile(options);
  }

  void train_and_compare() {
    for (size_t step = 0; step < about_["history"]["loss"].size(); ++step) {
      model_.training().reset_metrics();
      model_.train_on_batch(batch(step % batches));
      compare_loss_scale(step);
      compare_metrics([&](const Json &values) { return values[step].get<double>(); },
                      about_["history"], " of step " + std::to_string(step));
    }
    for (size_t i = 0; i < places_.size(); ++i) {
      const auto name = about_["weights"][i].get<std::string>();
      // Attention does not depend on it: its gradient is what rounding leaves, which Adam makes as
      // large as any other.
      if (contains(name, "key/bias")) continue;
      expect_recorded(weight(i), recorded("weights_after", i), tolerance_, name);
    }
    if (about_.contains("iterations"))
      expect_recorded(static_cast<double>(model_.training().optimizer().iterations()),
                      about_["iterations"].get<double>(), 0, "the count of iterations");
    model_.training().reset_metrics();
    nn::Batch first = batch(0);
    if (!about_["class_weight"].is_null()) first.weights.clear();  // they count in training alone
    model_.test_on_batch(first);
    compare_metrics([](const Json &value) { return value.get<double>(); }, about_["evaluated"],
                    " afterwards");
  }

 private:
  const Array &recorded(const char *array, size_t index) const {
    return fixture_[prefix_ + array + "/" + std::to_string(index)];
  }
  const Array &weight(size_t index) const { return model_.weights().at(places_.at(index)).value; }

  void compare_loss_scale(size_t step) {
    if (!about_.contains("loss_scales")) return;
    if (!model_.training().optimizer().loss_scale())
      throw Error(Code::internal, "the loss is not scaled");
    expect_recorded(static_cast<double>(model_.training().optimizer().loss_scale()->state().scale),
                    about_["loss_scales"][step].get<double>(), 0,
                    "the scale of the loss after step " + std::to_string(step));
  }

  template <class Value>
  void compare_metrics(const Value &value, const Json &of, const std::string &when) {
    const auto names = model_.training().metric_names();
    const auto values = model_.training().metrics();
    for (size_t i = 0; i < names.size(); ++i)
      expect_recorded(values.at(i), value(of.at(names[i])), tolerance_, names[i] + when);
  }

  nn::Batch batch(size_t number) const {
    nn::Batch batch;
    for (const nn::Graph::Input &input : model_.graph().inputs())
      batch.inputs.push_back(part_of(fixture_[prefix_ + "inputs/" + input.name], number));
    for (const std::string &name : model_.graph().result_names()) {
      batch.truths.push_back(part_of(fixture_[prefix_ + "true/" + name], number));
      if (fixture_.has(prefix_ + "sample_weight/" + name))
        batch.weights.push_back(part_of(fixture_[prefix_ + "sample_weight/" + name], number));
    }
    if (!about_["class_weight"].is_null()) batch.weights = {weights_of_classes(batch.truths[0])};
    return batch;
  }

  Array weights_of_classes(const Array &labels) const {
    const Array weights({labels.shape(), nn::Dtype::f32});
    for (size_t i = 0; i < labels.size(); ++i)
      weights.data()[i] =
          about_["class_weight"].at(std::to_string(labels.data<int32_t>()[i])).get<float>();
    return weights;
  }

  const Fixture &fixture_;
  const Json &about_;
  const std::string prefix_;
  nn::Model model_;
  std::vector<size_t> places_;
  double tolerance_ = 2e-5;
};

void compare_steps(const char *file) {
  const Fixture fixture(file);
  for (const std::string &backend : compared_back_ends()) {
    print_message("# %s on the back end %s\n", file, backend.c_str());
    fixture.for_each([&](const Json &about, const std::string &) {
      RecordedTraining(fixture, about, backend).train_and_compare();
    });
  }
}

void test_steps_are_those_of_keras(void **) { compare_steps("training/steps"); }
void test_constrained_weights_are_those_of_keras(void **) { compare_steps("training/constrained"); }
void test_steps_of_masked_sequences_are_those_of_keras(void **) {
  compare_steps("training/masked");
}
void test_steps_of_mixed_precision_are_those_of_keras(void **) { compare_steps("training/mixed"); }

}  // namespace
}  // namespace det::test

int test_recorded_training() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_steps_are_those_of_keras),
      cmocka_unit_test(test_constrained_weights_are_those_of_keras),
      cmocka_unit_test(test_steps_of_masked_sequences_are_those_of_keras),
      cmocka_unit_test(test_steps_of_mixed_precision_are_those_of_keras),
  };
  return cmocka_run_group_tests_name("recorded_training", tests, nullptr, nullptr);
}
