// Batches that are refused, and steps that are stopped: the model is as before.
#include "wrappers/nn/model/model.h"

#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/nn/suite/operation_case.h"
#include "tests/nn/suite/small_model.h"

namespace det::test {
namespace {

using nn::Array;
using nn::Batch;
using nn::Model;

const Json compiled_sparse = sparse_losses(layer("SGD", {{"learning_rate", 0.5}}));

// A model that does not say what comes in.
Json model_of_any_input() {
  return sequential(
      Json::array({layer("Dense", {{"units", 4}}), layer("BatchNormalization", Json::object()),
                   layer("Dense", {{"units", 3}, {"activation", "softmax"}})}));
}

Batch batch_of_width(int64_t width) {
  Batch batch{{Array(floats({4, width}))}, {Array(ints({4}))}, {}};
  fill_randomly(batch.inputs[0], 5);
  return batch;
}

void test_a_refused_first_batch_leaves_no_weights(void **) {
  Model model(model_of_any_input(), {1, "reference"});
  model.compile(compiled_sparse);
  Batch wrong = batch_of_width(7);
  wrong.truths[0].data<int32_t>()[1] = 3;
  Batch bare = batch_of_width(5);
  bare.truths.clear();
  for (const Batch &refused : {wrong, bare}) {
    expect_error(Code::invalid, [&] { model.train_on_batch(refused); });
    assert_false(model.is_built());
    assert_int_equal(model.weights().all().size(), 0);
    assert_int_equal(model.training().metric_count(), 1);
    expect_error(Code::state, [&] { model.results(); });
  }
  model.train_on_batch(batch_of_width(6));
  assert_true(model.weights().at(0).options.shape == (nn::Shape{6, 4}));
}

void test_layers_that_do_not_fit_leave_no_weights(void **) {
  const Json described = sequential(
      Json::array({layer("Dense", {{"units", 4}}), layer("Reshape", {{"target_shape", {3, 4}}})}));
  Model model(described, {1, "reference"});
  const auto predict = [&](nn::Shape shape) {
    return model.predict_on_batch({Array(floats(std::move(shape)))});
  };
  expect_error(Code::invalid, [&] { predict({2, 7}); });
  assert_int_equal(model.weights().all().size(), 0);
  assert_true(predict({2, 3, 5}).at(0).shape() == (nn::Shape{2, 3, 4}));
}

void test_a_single_number_is_no_batch(void **) {
  for (const char *first : {"Flatten", "Activation", "GlobalAveragePooling1D"}) {
    const Json fields =
        first == std::string("Activation") ? Json{{"activation", "relu"}} : Json::object();
    Model model(sequential(Json::array({layer(first, fields)})), {1, "reference"});
    const std::string told =
        expect_error(Code::invalid, [&] { model.predict_on_batch({Array(floats({}))}); });
    assert_true(contains(told, "'input_1' is a single number, not a batch"));
  }
}

void test_a_stopped_step_has_not_been(void **) {
  Model model(model_of_any_input(), {1, "reference"});
  model.compile(compiled_sparse);
  const Batch batch = batch_of_width(6);
  model.train_on_batch(batch);
  const auto all_values = [&] {
    std::vector<float> values;
    for (const nn::Weight &weight : model.weights().all())
      values.insert(values.end(), weight.value.elements().begin(), weight.value.elements().end());
    return values;
  };
  const std::vector<float> before = all_values();
  const auto stop = [] { throw Error(Code::callback, "stopped"); };
  model.observe_gradients({[&](size_t) { stop(); }, nullptr});
  expect_error(Code::callback, [&] { model.train_on_batch(batch); });
  model.observe_gradients({nullptr, [&] {
                             stop();
                             return true;
                           }});
  expect_error(Code::callback, [&] { model.train_on_batch(batch); });
  assert_int_equal(model.steps(), 1);
  assert_int_equal(model.training().optimizer().iterations(), 1);
  assert_true(all_values() == before);
}

void test_results_are_those_of_the_last_batch_that_was_taken(void **) {
  Model model(small_model(), {1, "reference"});
  model.compile(compiled_sparse);
  model.test_on_batch(batch_of(2));
  const float first = model.results().at(0).data()[0];
  Batch wrong = batch_of(4);
  wrong.truths.clear();
  expect_error(Code::invalid, [&] { model.test_on_batch(wrong); });
  assert_int_equal(model.results().at(0).shape().at(0), 2);
  assert_true(model.results().at(0).data()[0] == first);
}

void test_classes_that_there_are_not_are_refused(void **) {
  const auto refuse = [](Json loss, Json metrics) {
    Model model(small_model(), {1, "reference"});
    expect_error(Code::invalid, [&] {
      model.compile({{"optimizer", "sgd"}, {"loss", loss}, {"metrics", Json::array({metrics})}});
      Batch batch = batch_of(2);
      if (loss == Json("mse")) batch.truths[0] = Array(floats({2, 3}));
      model.train_on_batch(batch);
    });
  };
  for (const Json &ignored : {Json(1e300), Json(0.5), Json(int64_t{1} << 40)})
    refuse(layer("SparseCategoricalCrossentropy", {{"ignore_class", ignored}}), "accuracy");
  for (const int class_id : {-1, 3})
    for (const char *metric : {"Precision", "Recall"})
      refuse("mse", layer(metric, {{"class_id", class_id}}));
}

// A metric that counts columns is told of other ones only if it has room for them.
void test_later_batches_of_other_columns_fit_or_are_refused(void **) {
  const Json described =
      sequential(Json::array({layer("InputLayer", {{"batch_input_shape", {nullptr, nullptr}}}),
                              layer("Activation", {{"activation", "sigmoid"}})}));
  const auto columns = [](int64_t count) {
    return Batch{{Array(floats({2, count}))}, {Array(floats({2, count}))}, {}};
  };
  const std::pair<Json, int64_t> others[] = {
      {layer("AUC", {{"multi_label", true}, {"num_labels", 3}}), 4},
      {layer("AUC", {{"label_weights", {1, 2, 3}}}), 4},
      {layer("AUC", {{"multi_label", true}, {"num_labels", 3}}), 2},
      {layer("Precision", {{"top_k", 3}}), 2},
      {layer("Recall", {{"class_id", 2}}), 2},
      {layer("OneHotMeanIoU", {{"num_classes", 3}}), 4},
  };
  for (const auto &[metric, other] : others) {
    Model model(described, {1, "reference"});
    model.compile({{"loss", "mse"}, {"metrics", Json::array({metric})}});
    model.test_on_batch(columns(3));
    const std::vector<double> before = model.training().metrics();
    const std::string told =
        expect_error(Code::invalid, [&, other = other] { model.test_on_batch(columns(other)); });
    if (!contains(told, "computing the metric") || !contains(told, "the prediction has"))
      fail_msg("%s", told.c_str());
    assert_true(model.training().metrics() == before);
    model.test_on_batch(columns(3));
  }
}

void test_a_step_whose_metric_is_refused_has_not_been(void **) {
  Model model(sequential(Json::array({layer("InputLayer", {{"batch_input_shape", {nullptr, 1}}}),
                                      layer("BatchNormalization", Json::object())})),
              {1, "reference"});
  model.compile({{"optimizer", "sgd"}, {"loss", "mse"}, {"metrics", Json::array({"AUC", "AUC"})}});
  assert_true(model.training().metric_names() ==
              (std::vector<std::string>{"loss", "auc", "auc_1"}));
  Batch batch{{Array(floats({2, 1}))}, {Array(floats({2, 1}))}, {}};
  batch.inputs[0].data()[1] = 4;
  const std::string told = expect_error(Code::invalid, [&] { model.train_on_batch(batch); });
  assert_true(contains(told, "the metric 'auc': the prediction of record 0 is -"));
  assert_int_equal(model.steps(), 0);
  for (const nn::Weight &weight : model.weights().all())
    assert_true(weight.value.data()[0] ==
                (contains(weight.name, "mean") || contains(weight.name, "beta") ? 0 : 1));
}

}  // namespace
}  // namespace det::test

int test_refused_batches() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_a_refused_first_batch_leaves_no_weights),
      cmocka_unit_test(test_layers_that_do_not_fit_leave_no_weights),
      cmocka_unit_test(test_a_single_number_is_no_batch),
      cmocka_unit_test(test_a_stopped_step_has_not_been),
      cmocka_unit_test(test_results_are_those_of_the_last_batch_that_was_taken),
      cmocka_unit_test(test_classes_that_there_are_not_are_refused),
      cmocka_unit_test(test_later_batches_of_other_columns_fit_or_are_refused),
      cmocka_unit_test(test_a_step_whose_metric_is_refused_has_not_been),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
