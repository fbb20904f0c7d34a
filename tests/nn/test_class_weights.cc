// Records that count as their classes say, and what is no class.
#include "wrappers/nn/class_weights.h"

#include <cmath>

#include "tests/cmocka.h"
#include "tests/expect_error.h"

namespace det::test {
namespace {

using nn::Array;
using nn::Dtype;

// Two numbers of one type, as two records or in another shape.
template <class Number>
Array array_of(Dtype dtype, std::vector<Number> numbers, nn::Shape shape = {2}) {
  const Array array({std::move(shape), dtype});
  std::copy(numbers.begin(), numbers.end(), static_cast<Number *>(array.raw()));
  return array;
}
Array floats_of(std::vector<float> numbers, nn::Shape shape = {2}) {
  return array_of(Dtype::f32, std::move(numbers), std::move(shape));
}

std::vector<float> weighed(Array labels, std::vector<double> weights = {0.5, 4},
                           std::vector<Array> given = {}) {
  std::vector<float> room;
  nn::Batch batch{{floats_of({1, 2})}, {std::move(labels)}, std::move(given)};
  weigh_classes(batch, weights, room);
  assert_int_equal(batch.weights.size(), 1);
  const auto found = batch.weights[0].elements();
  return {found.begin(), found.end()};
}

void test_records_weigh_as_their_classes(void **) {
  const std::vector<float> expected = {4, 0.5F};
  assert_true(weighed(array_of<uint8_t>(Dtype::u8, {1, 0})) == expected);
  assert_true(weighed(array_of<int32_t>(Dtype::i32, {1, 0})) == expected);
  assert_true(weighed(array_of<int64_t>(Dtype::i64, {1, 0}, {2, 1})) == expected);
  assert_true(weighed(floats_of({1, 0})) == expected);
  assert_true(weighed(array_of<double>(Dtype::f64, {1, 0})) == expected);
  assert_true(weighed(floats_of({0, 1, 1, 0}, {2, 2})) == expected);
  assert_true(weighed(floats_of({1, 0}), {0.5, 4}, {floats_of({2, 3})}) ==
              (std::vector<float>{8, 1.5F}));
  assert_true(
      weighed(floats_of({1, 0}), {0.5, 4}, {array_of<double>(Dtype::f64, {2, 3}, {2, 1})}) ==
      (std::vector<float>{8, 1.5F}));
}

std::string refused(Array labels, std::vector<double> weights = {0.5, 4},
                    std::vector<Array> given = {}) {
  return expect_error(Code::invalid,
                      [&] { weighed(std::move(labels), std::move(weights), std::move(given)); });
}

void test_what_is_no_class_weighs_nothing(void **) {
  for (const auto &[label, text] :
       {std::pair(0.5F, "0.5"), std::pair(NAN, "NaN"), std::pair(INFINITY, "Infinity"),
        std::pair(1e30F, "1.0000000150474662e+30")})
    assert_string_equal(
        refused(floats_of({1, label})).c_str(),
        (std::string("weighting classes: the label of record 1 is ") + text + ", which is no class")
            .c_str());
  for (const int64_t label : {int64_t{2}, int64_t{-1}, INT64_MIN, INT64_MAX})
    assert_string_equal(
        refused(array_of<int64_t>(Dtype::i64, {0, label})).c_str(),
        ("weighting classes: there is a label " + std::to_string(label) + ", and no weight for it")
            .c_str());
  assert_string_equal(refused(array_of<int8_t>(Dtype::i8, {0, 1})).c_str(),
                      "weighting classes: labels are U8, I32, I64, F32 or F64, not I8");
  assert_string_equal(refused(floats_of({}, {2, 0})).c_str(),
                      "weighting classes: a record has no label");
  assert_string_equal(refused(floats_of({1, 0}), {1, NAN}).c_str(),
                      "weighting classes: the weight of 1 is no number");
}

void test_batches_that_do_not_fit_are_as_before(void **) {
  assert_string_equal(refused(floats_of({1}, {1})).c_str(),
                      "weighting classes: there are 1 labels for 2 records");
  assert_string_equal(refused(floats_of({1, 0}), {1, 1}, {floats_of({1}, {1})}).c_str(),
                      "weighting classes: there are 1 sample weights for 2 records");
  assert_string_equal(refused(floats_of({1, 0}), {1, 1}, {floats_of({1, 1, 1, 1}, {2, 2})}).c_str(),
                      "weighting classes: there is one sample weight for each record");
  std::vector<float> room;
  nn::Batch several{{floats_of({1, 2})}, {floats_of({1, 0}), floats_of({1, 0})}, {}};
  const std::vector<double> weights = {1, 1};
  const std::string told =
      expect_error(Code::invalid, [&] { weigh_classes(several, weights, room); });
  assert_string_equal(told.c_str(), "weighting classes: there is one result, not 2");
  assert_true(several.weights.empty());
  nn::Batch none{{floats_of({}, {0})}, {floats_of({}, {0})}, {}};
  weigh_classes(none, weights, room);
  assert_true(none.weights.empty());
}

}  // namespace
}  // namespace det::test

int test_class_weights() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_records_weigh_as_their_classes),
      cmocka_unit_test(test_what_is_no_class_weighs_nothing),
      cmocka_unit_test(test_batches_that_do_not_fit_are_as_before),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
