// Metrics against those of Keras: tests/data/nn/metrics.
#include "core/base/error.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/nn/recorded/fixture.h"
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

void test_results_after_each_batch(void **) {
  const Fixture fixture("metrics/values");
  const auto run = [&](const Json &about, const std::string &name) {
    const auto data = [&](const char *key, size_t batch) {
      return part_of(fixture["data/" + about[key].get<std::string>()], batch);
    };
    std::unique_ptr<nn::Metric> metric;
    for (int round = 0; round < 2; ++round) {  // the second after a reset
      for (size_t batch = 0; batch < 3; ++batch) {
        const Array prediction = data("predicted", batch);
        const Array truth = as_compared(data("true", batch), prediction);
        if (!metric) metric = nn::make_metric(about["metric"], truth.type(), prediction.type());
        metric->update(truth, prediction,
                       about["weights"].is_null() ? Array() : data("weights", batch));
        const auto expected = static_cast<double>(fixture[name + "/results"].data()[batch]);
        expect_recorded(metric->result(), expected, 1e-6 * (1 + expected),
                        "the result after batch " + std::to_string(batch));
      }
      metric->reset();
    }
  };
  // Of one number each, or of labels on both sides, which no model predicts.
  std::vector<std::string> skipped;
  for (const char *name :
       {"accuracy", "mean", "mean_of_rank_1", "sum", "iou", "mean_iou", "binary_iou"})
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

void test_wrong_metrics_are_refused(void **) {
  const nn::ArrayType rows{{4, 3}, nn::Dtype::f32};
  const nn::ArrayType labels{{4}, nn::Dtype::i32};
  const auto message = expect_error(Code::invalid, [&] { nn::make_metric("acuracy", rows, rows); });
  assert_true(contains(message, "did you mean 'accuracy'"));
  expect_error(Code::invalid, [&] { nn::make_metric("mae", labels, rows); });
  expect_error(Code::invalid, [&] { nn::make_metric("sparse_categorical_accuracy", rows, rows); });
  const Json curve{{"class_name", "AUC"}, {"config", {{"curve", "straight"}}}};
  expect_error(Code::invalid, [&] { nn::make_metric(curve, rows, rows); });
}

}  // namespace
}  // namespace det::test

int test_recorded_metrics() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_results_after_each_batch),
      cmocka_unit_test(test_ties_are_among_the_largest),
      cmocka_unit_test(test_wrong_metrics_are_refused),
  };
  return cmocka_run_group_tests_name("recorded_metrics", tests, nullptr, nullptr);
}
