// What a forest says of variables that are known to matter, or not.
#include <cmath>
#include <vector>

#include "tests/cmocka.h"
#include "wrappers/cli/random_forest.h"

namespace {

// 200 results that follow from the first two of four variables.
det::cli::ForestImportance importances(double (*result)(double, double)) {
  std::vector<det::cli::Variable> variables(4);
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
  return det::cli::forest_importance(variables, results);
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
  std::vector<det::cli::Variable> variables(3);
  variables[0].category = true;
  std::vector<double> results;
  unsigned state = 3;
  const auto random = [&state] { return (state = state * 1664525 + 1013904223) >> 8; };
  for (int i = 0; i < 120; ++i) {
    variables[0].values.push_back(i % 12);
    for (const size_t noise : {1, 2}) variables[noise].values.push_back(random() % 1000);
    results.push_back(i % 12 == 5);
  }
  const det::cli::RegressionTree tree(variables, results, {5, 17, 29, 0, 1, 2, 3, 4, 6, 7, 8});
  for (size_t i = 0; i < results.size(); ++i)
    assert_true(tree.predict(i, tree.none, i) == results[i]);
  const auto forest = det::cli::forest_importance(variables, results);
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
  for (const det::cli::Importance &each : noise.variables) assert_true(each.mean < 0.15);
}

}  // namespace

int test_random_forest() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_forest_finds_the_variable_that_matters),
      cmocka_unit_test(a_category_is_told_from_all_others),
      cmocka_unit_test(a_forest_explains_no_noise),
  };
  return cmocka_run_group_tests_name("random_forest", tests, nullptr, nullptr);
}
