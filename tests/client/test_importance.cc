// Numbers worked out by hand.
#include "core/client/importance.h"

#include <cmath>

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
void importance_is_what_chance_does_not_explain(void **) {
  const client::Influence seen = client::influence_of({1, 2, 3, 4}, {0, 0, 1, 1}, nullptr);
  assert_float_equal(seen.importance, (0.8 - 1.0 / 3) / (2.0 / 3), 0.03F);
  assert_float_equal(seen.p_value, 1.0 / 3, 0.05F);
  const client::Influence none = client::influence_of({1, 4, 2, 3}, {0, 0, 1, 1}, nullptr);
  assert_equal(none.importance, 0);
  assert_equal(none.p_value, 1);
}

void a_category_of_its_own_for_each_trial_tells_nothing(void **) {
  const client::Influence seen = client::influence_of({1, 2, 3, 4}, {0, 1, 2, 3}, nullptr);
  assert_equal(seen.importance, 0);
  assert_equal(seen.p_value, 1);
}

void a_trend_counts_with_its_direction(void **) {
  const Values ranks{1, 2, 3, 4, 5, 6};
  const client::Influence seen =
      client::influence_of({6, 5, 4, 3, 2, 1}, {0, 0, 0, 1, 1, 1}, &ranks);
  assert_float_equal(seen.trend, -1, 1e-6F);
  assert_float_equal(seen.importance, 1, 1e-6F);
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
  assert_true(seen.importance > 0.4 && seen.p_value < 0.1);
}

}  // namespace
}  // namespace det::test

int test_importance() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(equal_values_share_the_mean_of_their_ranks),
      cmocka_unit_test(parts_have_about_as_many_values_and_keep_equal_ones_together),
      cmocka_unit_test(the_variance_between_parts_is_a_part_of_all),
      cmocka_unit_test(importance_is_what_chance_does_not_explain),
      cmocka_unit_test(a_category_of_its_own_for_each_trial_tells_nothing),
      cmocka_unit_test(a_trend_counts_with_its_direction),
      cmocka_unit_test(a_best_value_in_the_middle_counts_without_a_trend),
  };
  return cmocka_run_group_tests_name("importance", tests, nullptr, nullptr);
}
