// Records and steps that count as their classes say, and what is no class.
#include "wrappers/nn/model/model.h"

#include <cmath>

#include "core/base/json.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/nn/suite/small_model.h"

namespace det::test {
namespace {

using nn::Array;
using nn::Dtype;
using nn::Shape;

template <class Number>
Array array_of(Dtype dtype, std::vector<Number> numbers, Shape shape) {
  const Array array({std::move(shape), dtype});
  std::copy(numbers.begin(), numbers.end(), static_cast<Number *>(array.raw()));
  return array;
}
Array floats_of(std::vector<float> numbers, Shape shape = {2}) {
  return array_of(Dtype::f32, std::move(numbers), std::move(shape));
}

// What is compared with `loss` is the same as what comes in, so that losses are those of Keras by
// hand.
class Compared {
 public:
  Compared(const Json &loss, Shape record)
      : model_(described(std::move(record)), {1, "reference"}) {
    model_.compile({{"loss", loss}});
  }

  double loss(const Array &predicted, const Array &truth, const std::vector<double> &classes,
              const std::vector<Array> &weights = {}) {
    model_.training().reset_metrics();
    model_.test_on_batch({{predicted}, {truth}, weights, classes});
    return model_.training().metrics()[0];
  }

 private:
  static Json described(Shape record) {
    record.insert(record.begin(), -1);
    Json shape = record;
    shape[0] = nullptr;
    return sequential(Json::array({layer("InputLayer", {{"batch_input_shape", shape}}),
                                   layer("Activation", {{"activation", "linear"}})}));
  }

  nn::Model model_;
};

void expect_loss(double found, double expected) {
  if (std::fabs(found - expected) > 1e-5) fail_msg("a loss of %g, not %g", found, expected);
}

const std::vector<double> two = {0.5, 4};

void test_records_weigh_as_their_classes(void **) {
  Compared columns("mse", {1});
  const Array zeros = floats_of({0, 0}, {2, 1});
  const double expected = (4 * 1 + 0.5 * 0) / 2;
  expect_loss(columns.loss(zeros, floats_of({1, 0}), two), expected);
  expect_loss(columns.loss(zeros, array_of<uint8_t>(Dtype::u8, {1, 0}, {2}), two), expected);
  expect_loss(columns.loss(zeros, array_of<int8_t>(Dtype::i8, {1, 0}, {2, 1}), two), expected);
  expect_loss(columns.loss(zeros, array_of<int16_t>(Dtype::i16, {1, 0}, {2}), two), expected);
  expect_loss(columns.loss(zeros, array_of<int64_t>(Dtype::i64, {1, 0}, {2, 1}), two), expected);
  expect_loss(columns.loss(zeros, array_of<double>(Dtype::f64, {1, 0}, {2}), two), expected);
  expect_loss(columns.loss(zeros, floats_of({1, 0}), two, {floats_of({2, 3})}), 2 * expected);
  Compared rows("mse", {2});
  expect_loss(rows.loss(floats_of({0, 0, 0, 0}, {2, 2}), floats_of({0, 1, 1, 0}, {2, 2}), two),
              (4 * 0.5 + 0.5 * 0.5) / 2);
}

// Each step has the weight of its own class, and of its own where it has one.
void test_steps_weigh_as_their_classes(void **) {
  const Json sparse{{"class_name", "SparseCategoricalCrossentropy"},
                    {"config", {{"from_logits", true}}}};
  const double of_each = std::log(2.0);
  const Array zeros = floats_of(std::vector<float>(8), {2, 2, 2});
  Compared labels(sparse, {2, 2});
  for (const Dtype dtype : {Dtype::i8, Dtype::u8})
    expect_loss(labels.loss(zeros, array_of<int8_t>(dtype, {1, 0, 0, 0}, {2, 2}), two),
                (4 + 3 * 0.5) / 4 * of_each);
  expect_loss(labels.loss(zeros, array_of<int16_t>(Dtype::i16, {1, 0, 1, 0}, {2, 2, 1}), two),
              (4 + 0.5 + 4 + 0.5) / 4 * of_each);
  // Of records, of steps, and both with those of classes.
  const Array none = array_of<int32_t>(Dtype::i32, {0, 0, 0, 1}, {2, 2});
  expect_loss(labels.loss(zeros, none, {}, {floats_of({1, 3})}), 2 * of_each);
  expect_loss(labels.loss(zeros, none, {}, {floats_of({0, 1, 2, 5}, {2, 2})}), 2 * of_each);
  expect_loss(labels.loss(zeros, none, two, {floats_of({0, 1, 2, 5}, {2, 2})}),
              (0.5 + 1 + 20) / 4 * of_each);
  expect_loss(labels.loss(zeros, none, two, {floats_of({1, 3})}),
              (0.5 + 0.5 + 1.5 + 12) / 4 * of_each);
  Compared places("categorical_crossentropy", {2, 2});
  const Array halves = floats_of(std::vector<float>(8, 0.5F), {2, 2, 2});
  expect_loss(places.loss(halves, floats_of({0, 1, 1, 0, 1, 0, 1, 0}, {2, 2, 2}), two),
              (4 + 3 * 0.5) / 4 * of_each);
  Compared ones("binary_crossentropy", {2, 1});
  expect_loss(ones.loss(floats_of(std::vector<float>(4, 0.5F), {2, 2, 1}),
                        floats_of({0, 1, 0, 0}, {2, 2}), two),
              (4 + 3 * 0.5) / 4 * of_each);
  const Json ignoring{{"class_name", "SparseCategoricalCrossentropy"},
                      {"config", {{"from_logits", true}, {"ignore_class", -1}}}};
  Compared some(ignoring, {2, 2});
  expect_loss(some.loss(zeros, array_of<int32_t>(Dtype::i32, {-1, 0, 1, -1}, {2, 2}), two),
              4.5 / 2 * of_each);
}

std::string refused(const Json &loss, const Shape &record, const Array &predicted,
                    const Array &truth, const std::vector<double> &classes = two,
                    const std::vector<Array> &weights = {}) {
  Compared compared(loss, record);
  return expect_error(Code::invalid, [&] { compared.loss(predicted, truth, classes, weights); });
}

void expect_text(const std::string &found, const std::string &expected) {
  assert_string_equal(found.c_str(), expected.c_str());
}

void test_what_is_no_class_weighs_nothing(void **) {
  const Array zeros = floats_of({0, 0}, {2, 1});
  for (const auto &[label, text] :
       {std::pair(0.5F, "0.5"), std::pair(NAN, "NaN"), std::pair(INFINITY, "Infinity"),
        std::pair(1e30F, "1.0000000150474662e+30")})
    expect_text(
        refused("mse", {1}, zeros, floats_of({1, label})),
        std::string("weighting classes: the label of record 1 is ") + text + ", which is no class");
  for (const int32_t label : {2, -1})
    expect_text(
        refused("mse", {1}, zeros, array_of<int32_t>(Dtype::i32, {0, label}, {2})),
        "weighting classes: there is a label " + std::to_string(label) + ", and no weight for it");
  expect_text(refused("mse", {1}, zeros, floats_of({1, 0}), {1, NAN}),
              "weighting classes: the weight of 1 is no number");
  expect_text(
      refused("mse", {2}, floats_of({0, 0, 0, 0}, {2, 2}), floats_of({0, 1, NAN, 0}, {2, 2})),
      "weighting classes: the label of record 1 is NaN, which is no class");
  const Json across{{"class_name", "CategoricalCrossentropy"}, {"config", {{"axis", 1}}}};
  const Array cube = floats_of(std::vector<float>(12, 0.5F), {2, 2, 3});
  expect_text(refused(across, {2, 3}, cube, cube),
              "weighting classes: labels of (2, 2, 3) have no weights of (2,)");
}

// A label is told as it was given.
void test_labels_are_told_as_they_were_given(void **) {
  const Array zeros = floats_of(std::vector<float>(8), {2, 2, 2});
  const auto told = [&](const Array &labels) {
    return refused("sparse_categorical_crossentropy", {2, 2}, zeros, labels, {});
  };
  const std::string begin = "comparing with the labels of a batch: that of record 1 is ";
  expect_text(told(floats_of({0, 0, 0, NAN}, {2, 2})), begin + "NaN, which is no class");
  const std::string end = "; the prediction has the classes 0 to 1";
  expect_text(told(array_of<double>(Dtype::f64, {0, 0, 1e30, 0}, {2, 2})), begin + "1e+30" + end);
  expect_text(told(array_of<int64_t>(Dtype::i64, {0, 0, INT64_MAX, 0}, {2, 2})),
              begin + "9223372036854775807" + end);
  expect_text(told(array_of<int8_t>(Dtype::i8, {0, 0, -3, 0}, {2, 2})), begin + "-3" + end);
}

void test_batches_that_do_not_fit(void **) {
  const Array zeros = floats_of({0, 0}, {2, 1});
  assert_true(contains(refused("mse", {1}, zeros, floats_of({1}, {1})), "is expected"));
  assert_true(contains(refused("mse", {1}, zeros, floats_of({1, 0}), two, {floats_of({1}, {1})}),
                       "the array of the weights of records has the shape (1,), where (2,)"));
  assert_true(contains(
      refused("mse", {1}, zeros, floats_of({1, 0}), two, {floats_of({1, 1, 1, 1}, {2, 2})}),
      "the array of the weights of records has the shape (2, 2), where (2,)"));
  nn::Model several(small_model(), {1, "reference"});
  several.compile({{"loss", "mse"}});
  const std::string told = expect_error(Code::invalid, [&] {
    several.test_on_batch({{floats_of(std::vector<float>(12), {2, 2, 3})},
                           {floats_of({1, 0}), floats_of({1, 0})},
                           {},
                           two});
  });
  assert_true(contains(told, "2 arrays to compare with"));
}

}  // namespace
}  // namespace det::test

int test_class_weights() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_records_weigh_as_their_classes),
      cmocka_unit_test(test_steps_weigh_as_their_classes),
      cmocka_unit_test(test_what_is_no_class_weighs_nothing),
      cmocka_unit_test(test_labels_are_told_as_they_were_given),
      cmocka_unit_test(test_batches_that_do_not_fit),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
