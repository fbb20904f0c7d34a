// Features of records made into numbers through det/estimator.hpp.
#include <det/estimator.hpp>
#include <det/nn.hpp>

#include "tests/cmocka.h"

namespace {

using namespace det::estimator;
namespace nn = det::nn;
using det::nn::Array;
using det::nn::Batch;

void assert_numbers(const Array &found, const det::nn::Shape &shape,
                    const std::vector<float> &expected) {
  assert_true(found.shape() == shape);
  for (size_t i = 0; i < expected.size(); ++i) assert_float_equal(found.data()[i], expected[i], 0);
}

template <class Action>
std::string refusal_of(const Action &action) {
  try {
    action();
  } catch (const std::exception &refused) {
    return refused.what();
  }
  return "";
}

Batch one_feature(Array values) { return Batch::of({{"x", std::move(values)}}); }

void numbers_are_taken_as_they_are_or_changed(void **) {
  const Batch ints = one_feature(std::vector<int64_t>{3, -4});
  assert_numbers(input_layer(ints, {numeric_column("x")}), {2, 1}, {3, -4});
  const Batch pairs = one_feature(Array(std::vector<double>{1, 2, 3, 4}, {2, 1, 2}));
  assert_numbers(input_layer(pairs, {numeric_column("x", {2}, [](double x) { return 10 - x; })}),
                 {2, 2}, {9, 8, 7, 6});
}

void a_boundary_belongs_to_the_bucket_above(void **) {
  const Batch batch = one_feature(std::vector<float>{-1, 0, 4.9F, 5});
  assert_numbers(input_layer(batch, {bucketized_column(numeric_column("x"), {0, 5})}), {4, 3},
                 {1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1});
}

void each_number_of_a_record_has_its_buckets(void **) {
  const Batch batch = one_feature(Array(std::vector<float>{-1, 1}, {1, 2}));
  assert_numbers(input_layer(batch, {bucketized_column(numeric_column("x", {2}), {0})}), {1, 4},
                 {1, 0, 0, 1});
}

void an_indicator_counts_categories(void **) {
  const Batch batch = one_feature(Array(std::vector<int32_t>{2, 2, 0, 1}, {2, 2}));
  assert_numbers(input_layer(batch, {indicator_column(categorical_column_with_identity("x", 3))}),
                 {2, 3}, {0, 0, 2, 1, 1, 0});
}

void what_a_vocabulary_does_not_have_is_no_category(void **) {
  const Batch batch = one_feature(std::vector<int64_t>{7, 50, 9});
  const auto column = categorical_column_with_vocabulary_list("x", {50, 7});
  assert_numbers(input_layer(batch, {indicator_column(column)}), {3, 2}, {0, 1, 1, 0, 0, 0});
}

void another_number_may_be_a_category_of_its_own(void **) {
  const Batch batch = one_feature(std::vector<int64_t>{-1, 1, 2});
  const auto column = categorical_column_with_identity("x", 2, 0);
  assert_numbers(input_layer(batch, {indicator_column(column)}), {3, 2}, {0, 0, 0, 1, 1, 0});
}

void columns_lie_in_the_order_of_their_names(void **) {
  const Batch batch = Batch::of({{"b", std::vector<float>{1, 2}}, {"a", std::vector<float>{3, 4}}});
  assert_numbers(input_layer(batch, {numeric_column("b"), numeric_column("a"),
                                     bucketized_column(numeric_column("a"), {3.5})}),
                 {2, 4}, {3, 1, 0, 1, 4, 0, 1, 2});
}

void what_does_not_fit_says_why(void **) {
  const Batch batch = one_feature(Array(std::vector<float>{1, 2}, {1, 2}));
  assert_string_equal(refusal_of([&] { (void)input_layer(batch, {numeric_column("x")}); }).c_str(),
                      "reading the feature 'x': a record has 2 numbers, and its column is made for "
                      "1");
  const auto identity = categorical_column_with_identity("x", 3);
  assert_string_equal(
      refusal_of([&] { (void)input_layer(batch, {indicator_column(identity)}); }).c_str(),
      "reading the feature 'x': a column of its kind takes no F32; make I64 of it");
  const Batch beyond = one_feature(std::vector<int64_t>{3});
  assert_string_equal(
      refusal_of([&] { (void)input_layer(beyond, {indicator_column(identity)}); }).c_str(),
      "reading the feature 'x': it has 3, and its column is made for 0 to 2");
  assert_string_equal(refusal_of([&] { (void)input_layer(batch, {numeric_column("y")}); }).c_str(),
                      "reading a batch: it has no feature 'y'; it has 'x'");
  const Batch uneven = Batch::of({{"a", std::vector<float>{1, 2}}, {"b", std::vector<float>{3}}});
  assert_string_equal(refusal_of([&] {
                        (void)input_layer(uneven, {numeric_column("a"), numeric_column("b")});
                      }).c_str(),
                      "making an input layer: the column 'b' has 1 records, and the batch 2");
}

void texts_of_categories_are_told_from_numbers(void **) {
  const Batch numbers = one_feature(std::vector<int64_t>{1});
  const auto words =
      categorical_column_with_vocabulary_list("x", std::vector<std::string>{"one", "two"});
  assert_string_equal(
      refusal_of([&] { (void)input_layer(numbers, {indicator_column(words)}); }).c_str(),
      "reading the feature 'x': its column takes texts; make them with det::nn::texts()");
  assert_string_equal(refusal_of([] { (void)nn::texts({"three"}, 4); }).c_str(),
                      "making an array of texts: one has 5 bytes, and its width is 4");
  assert_string_equal(refusal_of([] { (void)nn::texts({std::string("a\0b", 3)}); }).c_str(),
                      "making an array of texts: one has a zero in it");
  const Array padded = nn::texts({"", "three"}, 8);
  assert_true(padded.shape() == (nn::Shape{2, 8}));
  assert_true(nn::texts_of(padded) == (std::vector<std::string_view>{"", "three"}));
}

void texts_are_no_numbers(void **) {
  constexpr const char *why =
      "reading the feature 'x': it has texts, and its column takes numbers; columns over texts are "
      "categorical_column_with_vocabulary_list() and ..._with_hash_bucket()";
  for (const Array &given : {nn::texts({"m", "f"}), nn::texts({"male", "female"})}) {
    const Batch batch = one_feature(given);
    const Batch joined = nn::detail::join({batch, batch});
    for (const Batch &one : {batch, joined, batch.rows(0, 1)}) {
      assert_string_equal(
          refusal_of([&] { (void)input_layer(one, {numeric_column("x")}); }).c_str(), why);
      const auto identity = categorical_column_with_identity("x", 300);
      assert_string_equal(
          refusal_of([&] { (void)input_layer(one, {indicator_column(identity)}); }).c_str(), why);
    }
    assert_string_equal(refusal_of([&] { (void)Features(batch)["x"]; }).c_str(),
                        "reading the feature 'x': it has texts, which a model takes through a "
                        "feature column");
  }
  assert_string_equal(refusal_of([] {
                        (void)nn::texts({"a", "b", "c", "d"}, SIZE_MAX / 4 + 2);
                      }).c_str(),
                      "making an array of texts: they are 4, and a width of 4611686018427387905 is "
                      "more than memory "
                      "has for each");
}

void numbers_that_no_category_can_be_are_refused(void **) {
  const Batch batch = one_feature(std::vector<uint64_t>{1, UINT64_MAX});
  const auto words = categorical_column_with_vocabulary_list("x", std::vector<int64_t>{1});
  assert_string_equal(
      refusal_of([&] { (void)input_layer(batch, {indicator_column(words)}); }).c_str(),
      "reading the feature 'x': it has 18446744073709551615, and the greatest that a column of "
      "categories takes is 9223372036854775807");
}

void embeddings_are_weights_of_a_model(void **) {
  const auto column = categorical_column_with_identity("x", 3);
  const Batch batch = one_feature(std::vector<int64_t>{1});
  assert_string_equal(
      refusal_of([&] { (void)input_layer(batch, {embedding_column(column, 2)}); }).c_str(),
      "making an input layer: the column 'x_embedding' has weights, which only a model has; see "
      "input_parts()");
  assert_string_equal(refusal_of([&] { (void)embedding_column(column, 0); }).c_str(),
                      "making an embedding of the column 'x': its dimension is 1 or more");
  assert_string_equal(refusal_of([&] { (void)embedding_column(column, 2, {"max"}); }).c_str(),
                      "making an embedding of the column 'x': there is no combiner 'max'; there "
                      "are 'mean', 'sum' and 'sqrtn'");
}

void an_embedding_is_trained_where_it_may_be(void **) {
  for (const bool trainable : {true, false}) {
    EmbeddingOptions options;
    options.trainable = trainable;
    options.initializer = "ones";
    const auto column = embedding_column(categorical_column_with_hash_bucket("x", 4), 3, options);
    const nn::Value numbers = nn::input({4});
    const nn::Model model =
        nn::Model::create(nn::describe_functional({numbers}, {(*column.layer())(numbers)}));
    const det::Tensor weight = model.weights().at(0);
    assert_true(model.is_trained(0) == trainable && weight.shape == (nn::Shape{4, 3}));
    assert_float_equal(*static_cast<const float *>(weight.data), 1, 0);
  }
}

void categories_that_a_column_does_not_have_are_refused(void **) {
  const Batch batch = one_feature(std::vector<int64_t>{1, 2});
  const auto refusal = [&](std::vector<int64_t> found) {
    const CategoricalColumn column("x", 2, [=](const Array &) { return found; });
    return refusal_of([&] { (void)input_layer(batch, {indicator_column(column)}); });
  };
  assert_string_equal(
      refusal({1, 2}).c_str(),
      "reading the feature 'x': its column gives the category 2, and is made for 2");
  for (const size_t count : {1, 3})
    assert_string_equal(refusal(std::vector<int64_t>(count)).c_str(),
                        ("reading the feature 'x': its column gives " + std::to_string(count) +
                         " categories for 2 records")
                            .c_str());
  assert_string_equal(refusal({-1, 1}).c_str(), "");
}

void an_array_without_records_is_refused(void **) {
  const Batch none = Batch{{Array()}, {}, {}, {"x"}};
  const char *const refused = "reading the feature 'x': its array has no axis of records";
  assert_string_equal(refusal_of([&] { (void)input_layer(none, {numeric_column("x")}); }).c_str(),
                      refused);
  assert_string_equal(refusal_of([&] { (void)Features(none)["x"]; }).c_str(), refused);
}

void a_feature_asked_for_twice_is_one_input(void **) {
  Features features(one_feature(Array(std::vector<float>{1, 2}, {2, 1})));
  const nn::Value one = nn::dense(1).named("one")(features["x"]);
  const nn::Value other = nn::dense(1).named("other")(features["x"]);
  assert_true(features.names() == std::vector<std::string>{"x"});
  const nn::Model model =
      nn::Model::create(nn::describe_functional(features.inputs(), {one, other}));
  assert_int_equal(nn::Model::create(model.to_json()).weights().size(), 4);
}

void what_is_no_column_is_refused_when_it_is_made(void **) {
  assert_string_equal(
      refusal_of([] {
        (void)bucketized_column(numeric_column("x"), {1, 1});
      }).c_str(),
      "making buckets of the column 'x': give boundaries, each greater than the one before");
  assert_string_equal(refusal_of([] { (void)numeric_column("x", {0}); }).c_str(),
                      "making the numeric column 'x': every size of its shape is 1 or more");
  assert_string_equal(
      refusal_of([] {
        (void)bucketized_column(numeric_column("x"), {0, std::nan(""), -1});
      }).c_str(),
      "making buckets of the column 'x': give boundaries, each greater than the one before");
  assert_string_equal(
      refusal_of([] {
        (void)numeric_column("x", {int64_t{1} << 40, int64_t{1} << 40});
      }).c_str(),
      "making the numeric column 'x': its shape has more numbers than there can be");
  assert_string_equal(refusal_of([] { (void)CategoricalColumn("x", 2, {}); }).c_str(),
                      "making the categorical column 'x': there is no function that gives "
                      "categories");
  assert_string_equal(refusal_of([] { (void)categorical_column_with_identity("x", 0); }).c_str(),
                      "making the categorical column 'x': it has one category or more");
  assert_string_equal(
      refusal_of([] { (void)categorical_column_with_identity("x", 2, 2); }).c_str(),
      "making the categorical column 'x': what it takes otherwise is none of its 2 categories");
  assert_string_equal(refusal_of([] {
                        (void)categorical_column_with_vocabulary_list("x", {4, 4});
                      }).c_str(),
                      "making the categorical column 'x': its vocabulary has 4 twice");
  const Batch batch = one_feature(std::vector<float>{1});
  assert_string_equal(refusal_of([&] {
                        (void)input_layer(batch, {numeric_column("x"), numeric_column("x")});
                      }).c_str(),
                      "making an input layer: two columns have the name 'x'");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_taken_as_they_are_or_changed),
      cmocka_unit_test(a_boundary_belongs_to_the_bucket_above),
      cmocka_unit_test(each_number_of_a_record_has_its_buckets),
      cmocka_unit_test(an_indicator_counts_categories),
      cmocka_unit_test(what_a_vocabulary_does_not_have_is_no_category),
      cmocka_unit_test(another_number_may_be_a_category_of_its_own),
      cmocka_unit_test(columns_lie_in_the_order_of_their_names),
      cmocka_unit_test(what_does_not_fit_says_why),
      cmocka_unit_test(texts_of_categories_are_told_from_numbers),
      cmocka_unit_test(texts_are_no_numbers),
      cmocka_unit_test(numbers_that_no_category_can_be_are_refused),
      cmocka_unit_test(embeddings_are_weights_of_a_model),
      cmocka_unit_test(an_embedding_is_trained_where_it_may_be),
      cmocka_unit_test(categories_that_a_column_does_not_have_are_refused),
      cmocka_unit_test(an_array_without_records_is_refused),
      cmocka_unit_test(a_feature_asked_for_twice_is_one_input),
      cmocka_unit_test(what_is_no_column_is_refused_when_it_is_made),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
