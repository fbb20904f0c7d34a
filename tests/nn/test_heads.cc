// Labels, weights and options that heads of estimators cannot take.
#include <det/estimator.hpp>

#include "tests/cmocka.h"

namespace {

using namespace det::estimator;
namespace nn = det::nn;
using det::nn::Array;
using det::nn::Batch;

template <class Action>
void expect_refused(const char *why, const Action &action) {
  try {
    action();
  } catch (const std::logic_error &refusal) {
    if (std::string(refusal.what()).find(why) == std::string::npos)
      fail_msg("'%s' does not say '%s'", refusal.what(), why);
    return;
  }
  fail_msg("nothing is refused, where it should say '%s'", why);
}

DNNOptions options_of(int64_t n_classes) {
  DNNOptions options;
  options.hidden_units = {2};
  options.feature_columns = {numeric_column("x")};
  options.n_classes = n_classes;
  return options;
}

void evaluate(const DNNOptions &options, const Batch &batch) {
  Graph graph(dnn_classifier(options).model_fn(), Mode::evaluate, batch, 0);
  (void)graph.test_on_batch(batch);
}

Batch batch_of(Array labels) {
  return Batch::of({{"x", std::vector<float>{1, 2}}}, std::move(labels));
}

void labels_that_are_no_class(void **) {
  expect_refused("the label of record 1 is 3; of 3 classes they are the numbers from 0 to 2", [] {
    evaluate(options_of(3), batch_of(std::vector<int64_t>{0, 3}));
  });
  expect_refused("the label of record 0 is -1", [] {
    evaluate(options_of(3), batch_of(std::vector<int64_t>{-1, 0}));
  });
  expect_refused("the label of record 1 is 0.5", [] {
    evaluate(options_of(2), batch_of(std::vector<float>{1, 0.5F}));
  });
  expect_refused("a batch has one array of labels, not 0",
                 [] { evaluate(options_of(2), batch_of({})); });
  evaluate(options_of(3), batch_of(std::vector<int64_t>{0, 2}));
}

void texts_that_are_in_no_vocabulary(void **) {
  DNNOptions options = options_of(3);
  options.label_vocabulary = {"few", "some", "many"};
  expect_refused("the label of record 1 is 'none'; the label_vocabulary has no such text", [&] {
    evaluate(options, batch_of(nn::texts({"few", "none"})));
  });
  expect_refused("with a label_vocabulary labels are texts", [&] {
    evaluate(options, batch_of(std::vector<int64_t>{0, 1}));
  });
  expect_refused("a record has one label, not 4 for 2 records", [&] {
    evaluate(options, batch_of(nn::texts({"few", "few", "some", "many"}, 0, {2, 2})));
  });
  evaluate(options, batch_of(nn::texts({"few", "many"})));
}

void weights_that_are_not_there(void **) {
  DNNOptions options = options_of(2);
  options.weight_column = "w";
  const Array labels(std::vector<int64_t>{0, 1});
  expect_refused("it has no feature 'w'; it has 'x'", [&] { evaluate(options, batch_of(labels)); });
  const auto weighted = [&](Array weights) {
    return Batch::of({{"x", std::vector<float>{1, 2}}, {"w", std::move(weights)}}, labels);
  };
  expect_refused("a weight_column has one number a record", [&] {
    evaluate(options, weighted(Array(std::vector<float>{1, 2, 3, 4}, {2, 2})));
  });
  expect_refused("it has texts", [&] { evaluate(options, weighted(nn::texts({"1", "2"}))); });
  evaluate(options, weighted(std::vector<double>{1, 2}));
}

void options_that_cannot_be(void **) {
  expect_refused("there are 2 classes or more, not 1", [] { (void)dnn_classifier(options_of(1)); });
  DNNOptions options = options_of(3);
  options.label_vocabulary = {"few", "many"};
  expect_refused("its label_vocabulary has 2 texts, and n_classes is 3",
                 [&] { (void)dnn_classifier(options); });
  options.label_vocabulary = {"few", "many", "few"};
  expect_refused("its label_vocabulary has a text twice", [&] { (void)dnn_classifier(options); });
  options.label_dimension = 0;
  expect_refused("its label_dimension is 1 or more, not 0", [&] { (void)dnn_regressor(options); });
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(labels_that_are_no_class),
      cmocka_unit_test(texts_that_are_in_no_vocabulary),
      cmocka_unit_test(weights_that_are_not_there),
      cmocka_unit_test(options_that_cannot_be),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
