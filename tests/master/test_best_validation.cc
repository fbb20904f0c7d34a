#include <cmath>

#include "tests/cmocka.h"
#include "tests/master/home.h"

namespace det::test {
namespace {

Json searching(bool smaller_is_better) {
  return {{"searcher", {{"metric", "loss"}, {"smaller_is_better", smaller_is_better}}}};
}

// The best of these values of "loss", validated one after the other.
std::optional<double> best_of(const Json &config, const std::vector<double> &losses) {
  const Home home;
  const auto run = home.start(config);
  uint64_t step = 0;
  for (const double loss : losses) {
    ++step;
    deliver(*run, {metrics(step, "validation", static_cast<int64_t>(step), {{"loss", loss}})});
  }
  return run->best_validation();
}

void the_smallest_is_best_unless_the_configuration_says_otherwise(void **) {
  assert_true(best_of(searching(true), {3, 1, 2}) == 1);
  assert_true(best_of(Json{{"searcher", {{"metric", "loss"}}}}, {3, 1, 2}) == 1);
  assert_true(best_of(searching(false), {1, 3, 2}) == 3);
}

void nan_is_worse_than_any_number(void **) {
  for (const bool smaller : {true, false}) {
    assert_true(best_of(searching(smaller), {NAN, 5}) == 5);
    assert_true(best_of(searching(smaller), {5, NAN}) == 5);
    assert_true(std::isnan(best_of(searching(smaller), {NAN}).value_or(0)));
  }
}

void infinities_are_numbers(void **) {
  assert_true(best_of(searching(true), {1, -INFINITY}) == -INFINITY);
  assert_true(best_of(searching(false), {1, -INFINITY}) == 1);
}

void without_a_validation_or_a_metric_there_is_none(void **) {
  assert_false(best_of(searching(true), {}).has_value());
  assert_false(best_of(Json::object(), {1}).has_value());
}

void other_groups_and_values_that_are_no_numbers_do_not_count(void **) {
  const Home home;
  const auto run = home.start(searching(true));
  deliver(*run, {metrics(1, "training", 1, {{"loss", 0}}),
                 metrics_json(2, "validation", 1, R"({"loss": "abc"})"),
                 metrics_json(3, "validation", 2, R"({"accuracy": 0, "note": "\"loss\""})")});
  assert_false(run->best_validation().has_value());
}

void archived_validations_do_not_count(void **) {
  const Home home;
  auto run = home.start(searching(true));
  deliver(*run, {metrics(1, "validation", 10, {{"loss", 1}})});
  run->end_run(RunEnd::ok);
  run = home.resume(1);
  deliver(*run, {metrics(1, "validation", 5, {{"loss", 2}})});
  assert_true(run->best_validation() == 2);
}

}  // namespace
}  // namespace det::test

int main() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_smallest_is_best_unless_the_configuration_says_otherwise),
      cmocka_unit_test(nan_is_worse_than_any_number),
      cmocka_unit_test(infinities_are_numbers),
      cmocka_unit_test(without_a_validation_or_a_metric_there_is_none),
      cmocka_unit_test(other_groups_and_values_that_are_no_numbers_do_not_count),
      cmocka_unit_test(archived_validations_do_not_count),
  };
  return cmocka_run_group_tests_name("best_validation", tests, nullptr, nullptr);
}
