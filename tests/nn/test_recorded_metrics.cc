// Metrics against those of Keras: tests/data/nn/metrics.
#include <cmath>

#include "core/base/error.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/nn/recorded/fixture.h"
#include "wrappers/nn/arrays/array_copy.h"
#include "wrappers/nn/metrics/metric.h"

namespace det::test {
namespace {

using nn::Array;
using nn::Shape;

// As a loss has it: labels for each row, anything else of the prediction's shape.
Array as_compared(const Array &truth, const Array &prediction) {
  if (truth.dtype() != nn::Dtype::i32) return truth.reshaped(prediction.shape());
  Shape rows = prediction.shape();
  rows.pop_back();
  return truth.reshaped(rows);
}

// What models predict are real numbers: the numbers of classes, a row each.
Array as_predicted(const Array &prediction) {
  if (prediction.dtype() != nn::Dtype::i32) return prediction;
  Shape rows = prediction.shape();
  rows.push_back(1);
  const Array real({rows, nn::Dtype::f32});
  nn::copy_elements(prediction.reshaped(rows), real, "a prediction");
  return real;
}

void test_results_after_each_batch(void **) {
  const Fixture fixture("metrics/values");
  const auto run = [&](const Json &about, const std::string &name) {
    const auto data = [&](const char *key, size_t batch) {
      return part_of(fixture["data/" + about[key].get<std::string>()], batch);
    };
    std::unique_ptr<nn::Metric> metric;
    for (int round = 0; round < 2; ++round) {  // the second after a reset
      for (size_t batch = 0; batch < 3; ++batch) {
        const Array prediction = as_predicted(data("predicted", batch));
        const Array truth = as_compared(data("true", batch), prediction);
        if (!metric) metric = nn::make_metric(about["metric"], truth.type(), prediction.type());
        metric->update(truth, prediction,
                       about["weights"].is_null() ? Array() : data("weights", batch));
        const Array results = part_of(fixture[name + "/results"], batch);
        if (metric->names().size() != results.size())
          throw Error(Code::internal, "it tells " + std::to_string(metric->names().size()) +
                                          " numbers, not " + std::to_string(results.size()));
        for (size_t i = 0; i < results.size(); ++i) {
          const auto expected = static_cast<double>(results.data()[i]);
          expect_recorded(metric->result(i), expected, 1e-6 * (1 + expected),
                          "the result after batch " + std::to_string(batch));
        }
      }
      metric->reset();
    }
  };
  // Of one number each, or of labels that are compared one by one.
  std::vector<std::string> skipped;
  for (const char *name : {"accuracy", "mean", "mean_of_rank_1", "sum"})
    for (const char *ending : {"", "/weighted"}) skipped.push_back(std::string(name) + ending);
  fixture.for_each(run, skipped);
}

// As in Keras all that are as large as the k-th are among the largest.
void test_ties_are_among_the_largest(void **) {
  const Array prediction({{1, 4}, nn::Dtype::f32});
  const float given[] = {0.4F, 0.4F, 0.15F, 0.05F};
  std::copy(std::begin(given), std::end(given), prediction.data());
  const Array label({{1}, nn::Dtype::i32});
  const Json top{{"class_name", "SparseTopKCategoricalAccuracy"}, {"config", {{"k", 1}}}};
  for (const int right : {0, 1, 2}) {
    label.data<int32_t>()[0] = right;
    const auto metric = nn::make_metric(top, label.type(), prediction.type());
    metric->update(label, prediction, Array());
    assert_true(metric->result() == (right < 2 ? 1 : 0));
  }
}

// Here as in TensorFlow's top_k() the first of those that are alike.
void test_the_first_of_ties_are_positive(void **) {
  const nn::ArrayType row{{1, 4}, nn::Dtype::f32};
  const Array truth(row), prediction(row);
  const float given[] = {0.2F, 0.4F, 0.4F, 0.4F};
  std::copy(std::begin(given), std::end(given), prediction.data());
  const Json recall{{"class_name", "Recall"}, {"config", {{"top_k", 2}}}};
  for (const size_t right : {0, 1, 2, 3}) {
    std::fill_n(truth.data(), 4, 0.0F);
    truth.data()[right] = 1;
    const auto metric = nn::make_metric(recall, row, row);
    metric->update(truth, prediction, Array());
    assert_true(metric->result() == (right == 1 || right == 2 ? 1 : 0));
  }
}

void test_wrong_metrics_are_refused(void **) {
  const nn::ArrayType rows{{4, 3}, nn::Dtype::f32};
  const nn::ArrayType labels{{4}, nn::Dtype::i32};
  const auto message = expect_error(Code::invalid, [&] { nn::make_metric("acuracy", rows, rows); });
  assert_true(contains(message, "did you mean 'accuracy'"));
  expect_error(Code::invalid, [&] { nn::make_metric("mae", labels, rows); });
  expect_error(Code::invalid, [&] { nn::make_metric("sparse_categorical_accuracy", rows, rows); });
  const Json curve{{"class_name", "AUC"}, {"config", {{"curve", "straight"}}}};
  expect_error(Code::invalid, [&] { nn::make_metric(curve, rows, rows); });
  const auto refuse = [&](const char *name, const Json &config, const char *said,
                          const nn::ArrayType &truth) {
    const Json metric{{"class_name", name}, {"config", config}};
    const auto told = expect_error(Code::invalid, [&] { nn::make_metric(metric, truth, rows); });
    if (!contains(told, said)) fail_msg("%s", told.c_str());
  };
  refuse("Precision", {{"thresholds", {0.5, 1.5}}}, "'thresholds' must be a number from 0 to 1",
         rows);
  refuse("Precision", {{"thresholds", Json::array()}}, "'thresholds' has none", rows);
  refuse("Recall", {{"top_k", 4}}, "is of the largest 4; the prediction has 3", rows);
  refuse("Recall", {{"top_k", 0}}, "'top_k' must be 1 or more", rows);
  refuse("Recall", {{"class_id", 3}}, "is of the class 3; the prediction has 3", rows);
  refuse("AUC", {{"multi_label", true}}, "'num_labels' is given", rows);
  refuse("AUC", {{"multi_label", true}, {"num_labels", 2}}, "is of 2 labels", rows);
  refuse("AUC", {{"multi_label", true}, {"num_labels", INT64_MAX}}, "too many to count", rows);
  refuse("MeanIoU", {{"num_classes", INT64_MAX}}, "'num_classes' is above 4096", rows);
  refuse("AUC", {{"label_weights", {1, 2}}}, "is of 2 labels with weights", rows);
  refuse("AUC", {{"thresholds", {-1}}}, "'thresholds' must be from 0 to 1", rows);
  refuse("MeanIoU", Json::object(), "'num_classes' is missing", labels);
  refuse("IoU", {{"num_classes", 2}, {"target_class_ids", {2}}}, "must be classes from 0 to 1",
         rows);
  refuse("MeanIoU", {{"num_classes", 2}, {"sparse_y_pred", false}}, "is of 2 classes", labels);
  refuse("MeanIoU", {{"num_classes", 3}}, "takes of the truth what the prediction has", labels);
  refuse("MeanIoU", {{"num_classes", 3}, {"sparse_y_true", false}}, "for one of the truth", rows);
}

// Names as those of Keras, which a searcher looks for.
void test_metrics_are_named_as_keras_names_them(void **) {
  const nn::ArrayType column{{4, 1}, nn::Dtype::f32};
  const auto name_of = [&](const Json &metric) {
    return nn::make_metric(metric, column, column)->names().at(0);
  };
  const auto of_class = [](const char *name, Json config = Json::object()) {
    return Json{{"class_name", name}, {"config", std::move(config)}};
  };
  const std::pair<Json, const char *> expected[] = {
      {"AUC", "auc"},
      {"Precision", "precision"},
      {"TruePositives", "true_positives"},
      {"MeanSquaredError", "mean_squared_error"},
      {"KLDivergence", "kullback_leibler_divergence"},
      {"LogCoshError", "logcosh"},
      {"mse", "mse"},
      {"MSE", "MSE"},
      {"acc", "acc"},
      {"Accuracy", "Accuracy"},
      {of_class("Precision"), "precision"},
      {of_class("AUC", {{"name", nullptr}}), "auc"},
      {of_class("AUC", {{"name", "area"}}), "area"},
      {of_class("BinaryIoU"), "binary_io_u"},
      {of_class("RootMeanSquaredError"), "root_mean_squared_error"},
      {of_class("Precision", {{"thresholds", {0.5, 0.9}}}), "precision_at_0.5"},
  };
  for (const auto &[metric, name] : expected) assert_string_equal(name_of(metric).c_str(), name);
}

void test_values_that_metrics_are_not_told_of(void **) {
  const nn::ArrayType column{{2, 2}, nn::Dtype::f32};
  const auto refused = [&](const Json &metric, std::vector<float> is, std::vector<float> seems) {
    const Array truth(column), prediction(column);
    std::copy(is.begin(), is.end(), truth.data());
    std::copy(seems.begin(), seems.end(), prediction.data());
    const auto made = nn::make_metric(metric, column, column);
    assert_true(made->limits_values());
    return expect_error(Code::invalid, [&] { made->check_values(truth, prediction); });
  };
  const std::string end = ", and must be from 0 to 1; end the model with a sigmoid or a softmax";
  assert_string_equal(refused("AUC", {1, 0, 1, 0}, {0.5F, 0, 4, -3}).c_str(),
                      ("computing the metric 'auc': the prediction of record 1 is 4.0" + end +
                       ", or say \"from_logits\": true")
                          .c_str());
  assert_string_equal(
      refused("Recall", {1, 0, 1, 0}, {-0.25F, 0, 1, 1}).c_str(),
      ("computing the metric 'recall': the prediction of record 0 is -0.25" + end).c_str());
  assert_true(contains(refused("Precision", {1, 0, 1, 0}, {0, 0, 1, NAN}), "record 1 is NaN"));
  assert_string_equal(refused("AUC", {1, 0, 1, NAN}, {0, 0, 1, 0}).c_str(),
                      "computing the metric 'auc': the label of record 1 is NaN");
  const Json binary{{"class_name", "BinaryIoU"}, {"config", Json::object()}};
  assert_string_equal(refused(binary, {NAN, 0, 1, 0}, {0, 0, 1, 0}).c_str(),
                      "computing the metric 'binary_io_u': the label of record 0 is NaN");
  const Json logits{{"class_name", "AUC"}, {"config", {{"from_logits", true}}}};
  const Array truth(column), prediction(column);
  std::fill_n(prediction.data(), 4, 7.0F);
  nn::make_metric(logits, column, column)->check_values(truth, prediction);
}

// A prediction that is none of the classes is a miss of its own, and a truth that is none is not
// counted.
void test_classes_that_there_are_not(void **) {
  const nn::ArrayType column{{4, 1}, nn::Dtype::f32};
  const Array truth(column), prediction(column);
  const float is[] = {0, 1, 1, 7}, seems[] = {0, 1, 9, 0};
  std::copy(std::begin(is), std::end(is), truth.data());
  std::copy(std::begin(seems), std::end(seems), prediction.data());
  const Json mean{{"class_name", "MeanIoU"}, {"config", {{"num_classes", 2}}}};
  const auto metric = nn::make_metric(mean, column, column);
  metric->update(truth, prediction, Array());
  expect_recorded(metric->result(), 0.75, 1e-12, "one of one, and one of two");
}

}  // namespace
}  // namespace det::test

int test_recorded_metrics() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_results_after_each_batch),
      cmocka_unit_test(test_ties_are_among_the_largest),
      cmocka_unit_test(test_the_first_of_ties_are_positive),
      cmocka_unit_test(test_wrong_metrics_are_refused),
      cmocka_unit_test(test_metrics_are_named_as_keras_names_them),
      cmocka_unit_test(test_values_that_metrics_are_not_told_of),
      cmocka_unit_test(test_classes_that_there_are_not),
  };
  return cmocka_run_group_tests_name("recorded_metrics", tests, nullptr, nullptr);
}
