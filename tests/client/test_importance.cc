// Numbers worked out by hand, and what a forest says of variables that are known to matter, or not.
#include "core/client/importance.h"

#include <cmath>
#include <vector>

#include "tests/cmocka.h"

namespace det::test {
namespace {

using Values = std::vector<double>;
using Parts = std::vector<size_t>;

void equal_values_share_the_mean_of_their_ranks(void **) {
  assert_equal(client::ranks_of({3, 1, 2, 2, NAN}), Values({4, 1, 2.5, 2.5, 5}));
  assert_equal(client::ranks_of({NAN, 1, NAN, -INFINITY}), Values({3.5, 2, 3.5, 1}));
}

void parts_have_about_as_many_values_and_keep_equal_ones_together(void **) {
  assert_equal(client::parts_of({6, 5, 4, 3, 2, 1}, 3), Parts({2, 2, 1, 1, 0, 0}));
  assert_equal(client::parts_of({1, 1, 1, 1, 2, 3}, 3), Parts({0, 0, 0, 0, 1, 1}));
  assert_equal(client::parts_of({1, 1, 1}, 3), Parts({0, 0, 0}));
  assert_equal(client::parts_of({2, 1, 2, 3}, 4), Parts({1, 0, 1, 2}));
}

// Means 1.5 and 3.5 around 2.5: 4 × 1 of 2 × (1.5² + 0.5²).
void the_variance_between_parts_is_a_part_of_all(void **) {
  assert_float_equal(client::between_parts({1, 2, 3, 4}, {0, 0, 1, 1}), 0.8, 1e-6F);
  assert_float_equal(client::between_parts({1, 4, 2, 3}, {0, 0, 1, 1}), 0, 1e-6F);
  assert_float_equal(client::between_parts({5, 5}, {0, 1}), 0, 0);
}

// Four trials in two pairs can be dealt out in three ways: 0.8, 0.2 and 0 are between them, a third
// on average. As good as 0.8 is one in three.
void what_chance_explains_as_well_is_likely_chance(void **) {
  const client::Influence seen = client::influence_of({1, 2, 3, 4}, {0, 0, 1, 1}, nullptr);
  assert_float_equal(seen.p_value, 1.0 / 3, 0.05F);
  const client::Influence none = client::influence_of({1, 4, 2, 3}, {0, 0, 1, 1}, nullptr);
  assert_equal(none.p_value, 1);
}

void a_category_of_its_own_for_each_trial_tells_nothing(void **) {
  const client::Influence seen = client::influence_of({1, 2, 3, 4}, {0, 1, 2, 3}, nullptr);
  assert_equal(seen.p_value, 1);
}

void a_trend_counts_with_its_direction(void **) {
  const Values ranks{1, 2, 3, 4, 5, 6};
  const client::Influence seen =
      client::influence_of({6, 5, 4, 3, 2, 1}, {0, 0, 0, 1, 1, 1}, &ranks);
  assert_float_equal(seen.trend, -1, 1e-6F);
  // 2 of 720 orders are as clear.
  assert_float_equal(seen.p_value, 2.0 / 720, 0.005F);
}

void a_best_value_in_the_middle_counts_without_a_trend(void **) {
  const Values values{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Values metric = client::ranks_of({4, 3, 2, 1, 0, 1, 2, 3, 4});
  const Values ranks = client::ranks_of(values);
  const client::Influence seen = client::influence_of(metric, client::parts_of(values, 3), &ranks);
  assert_float_equal(seen.trend, 0, 1e-6F);
  // Ranks 8.5 6.5 4.5 | 2.5 1 2.5 | 4.5 6.5 8.5: means 6.5, 2, 6.5 around 5, of 58 in all.
  assert_float_equal(client::between_parts(metric, client::parts_of(values, 3)), 40.5 / 58, 1e-6F);
  assert_true(seen.p_value < 0.1);
}

// 200 results that follow from the first two of four variables.
client::ForestImportance importances(double (*result)(double, double)) {
  std::vector<client::Variable> variables(4);
  variables[1].category = true;
  std::vector<double> results;
  unsigned state = 1;
  const auto random = [&state] { return (state = state * 1664525 + 1013904223) >> 8; };
  for (int i = 0; i < 200; ++i) {
    const double number = random() % 1000 / 1000.0, category = random() % 3;
    results.push_back(result(number, category));
    variables[0].values.push_back(number);
    variables[1].values.push_back(category);
    variables[2].values.push_back(random() % 1000 / 1000.0);
    variables[3].values.push_back(i % 2 ? std::nan("") : 1);  // that half of them do not have
  }
  return client::forest_importance(variables, results);
}

void a_forest_finds_the_variable_that_matters(void **) {
  const auto one = importances([](double number, double) { return number * number; });
  assert_true(one.explained > 0.95);
  assert_true(one.variables[0].mean > 0.8 && one.variables[0].mean < 1.2);
  for (const size_t other : {1, 2, 3}) assert_true(one.variables[other].mean < 0.02);
  // Also a category, and what matters only together with another.
  const auto both = importances(
      [](double number, double category) { return category == 1 ? number : 1 - number; });
  assert_true(both.variables[0].mean > 0.5 && both.variables[1].mean > 0.5);
  assert_true(both.variables[2].mean < 0.05 && both.variables[3].mean < 0.05);
}

void a_category_is_told_from_all_others(void **) {
  std::vector<client::Variable> variables(3);
  variables[0].category = true;
  std::vector<double> results;
  unsigned state = 3;
  const auto random = [&state] { return (state = state * 1664525 + 1013904223) >> 8; };
  for (int i = 0; i < 120; ++i) {
    variables[0].values.push_back(i % 12);
    for (const size_t noise : {1, 2}) variables[noise].values.push_back(random() % 1000);
    results.push_back(i % 12 == 5);
  }
  const client::RegressionTree tree(variables, results, {5, 17, 29, 0, 1, 2, 3, 4, 6, 7, 8});
  for (size_t i = 0; i < results.size(); ++i)
    assert_true(tree.predict(i, tree.none, i) == results[i]);
  const auto forest = client::forest_importance(variables, results);
  assert_true(forest.variables[0].mean > 0.8);
  assert_true(forest.variables[1].mean < 0.02 && forest.variables[2].mean < 0.02);
}

void a_forest_explains_no_noise(void **) {
  static unsigned state = 7;
  const auto noise = importances([](double, double) {
    state = state * 22695477 + 1;
    return static_cast<double>(state >> 16);
  });
  assert_true(noise.explained < 0.1);
  for (const client::Importance &each : noise.variables) assert_true(each.mean < 0.15);
}

void nothing_matters_where_all_results_are_equal(void **) {
  const auto none = client::forest_importance({{false, {1, 2, 3, 4}}}, {5, 5, 5, 5});
  assert_equal(none.variables.size(), 1);
  assert_equal(none.variables[0].mean, 0);
  assert_equal(none.explained, 0);
}

}  // namespace
}  // namespace det::test

int test_importance() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(equal_values_share_the_mean_of_their_ranks),
      cmocka_unit_test(parts_have_about_as_many_values_and_keep_equal_ones_together),
      cmocka_unit_test(the_variance_between_parts_is_a_part_of_all),
      cmocka_unit_test(what_chance_explains_as_well_is_likely_chance),
      cmocka_unit_test(a_category_of_its_own_for_each_trial_tells_nothing),
      cmocka_unit_test(a_trend_counts_with_its_direction),
      cmocka_unit_test(a_best_value_in_the_middle_counts_without_a_trend),
      cmocka_unit_test(a_forest_finds_the_variable_that_matters),
      cmocka_unit_test(a_category_is_told_from_all_others),
      cmocka_unit_test(a_forest_explains_no_noise),
      cmocka_unit_test(nothing_matters_where_all_results_are_equal),
  };
  return cmocka_run_group_tests_name("importance", tests, nullptr, nullptr);
}
