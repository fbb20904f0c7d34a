#include <cmath>

#include "tests/cmocka.h"
#include "tests/engine/home.h"

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
  assert_equal(best_of(searching(true), {3, 1, 2}), 1);
  assert_equal(best_of(Json{{"searcher", {{"metric", "loss"}}}}, {3, 1, 2}), 1);
  assert_equal(best_of(searching(false), {1, 3, 2}), 3);
}

void nan_is_worse_than_any_number(void **) {
  for (const bool smaller : {true, false}) {
    assert_equal(best_of(searching(smaller), {NAN, 5}), 5);
    assert_equal(best_of(searching(smaller), {5, NAN}), 5);
    assert_true(std::isnan(best_of(searching(smaller), {NAN}).value_or(0)));
  }
}

void infinities_are_numbers(void **) {
  assert_equal(best_of(searching(true), {1, -INFINITY}), -INFINITY);
  assert_equal(best_of(searching(false), {1, -INFINITY}), 1);
}

void without_a_validation_or_a_metric_there_is_none(void **) {
  assert_false(best_of(searching(true), {}).has_value());
  assert_false(best_of(Json::object(), {1}).has_value());
}

void other_groups_do_not_count(void **) {
  const Home home;
  const auto run = home.start(searching(true));
  deliver(*run, {metrics(1, "training", 1, {{"loss", 0}}),
                 metrics_json(3, "validation", 2, R"({"accuracy": 0, "note": "\"loss\""})")});
  assert_false(run->best_validation().has_value());
}

void a_value_that_is_no_number_makes_the_report_refused(void **) {
  const Home home;
  const auto run = home.start(searching(true));
  uint64_t sequence = 0;
  for (const char *value : {"\"abc\"", "true", "[1]", "\"\"", "\"1x\"", "\"1e999\"", "{}"}) {
    const std::string text = std::string(R"({"loss": )") + value + R"(, "other": 1})";
    const Delivery delivery = deliver(*run, {metrics_json(++sequence, "validation", 7, text)});
    assert_int_equal(delivery.conflicts.size(), 1);
    assert_true(contains(delivery.conflicts[0], "step 7: a report was left out: \"loss\" is"));
  }
  assert_int_equal(home.count("SELECT COUNT(*) FROM metrics"), 0);
  // The same values elsewhere are nobody's business.
  assert_true(
      deliver(*run, {metrics_json(100, "training", 7, R"({"loss": "abc"})")}).conflicts.empty());
}

void texts_of_numbers_are_numbers_and_null_is_none(void **) {
  const Home home;
  const auto run = home.start(searching(true));
  deliver(*run, {metrics_json(1, "validation", 1, R"({"loss": " +2.5 "})"),
                 metrics_json(2, "validation", 2, R"({"loss": null})"),
                 metrics_json(3, "validation", 3, R"({"loss": "nan"})")});
  assert_equal(run->best_validation(), 2.5);
}

void the_first_of_equal_validations_is_the_best(void **) {
  const Home home;
  const auto run = home.start(searching(false));
  deliver(*run,
          {metrics(1, "validation", 1, {{"loss", 1}}), metrics(2, "validation", 2, {{"loss", 3}}),
           metrics(3, "validation", 3, {{"loss", 3}})});
  assert_int_equal(
      home.count("SELECT steps FROM trials JOIN metrics ON metrics.id=best_validation"), 2);
}

void a_metric_reported_again_with_another_value_does_not_count(void **) {
  const Home home;
  const auto run = home.start(searching(true));
  deliver(*run,
          {metrics(1, "validation", 1, {{"other", 1}}), metrics(2, "validation", 1, {{"loss", 3}}),
           metrics(3, "validation", 1, {{"loss", 1}, {"more", 1}})});
  assert_equal(run->best_validation(), 3);
}

void the_best_trial_comes_from_an_index(void **) {
  const Home home;
  engine::open_store(home.store(), true, {});
  engine::Database store = home.look();
  engine::Query plan = store.query(
      "EXPLAIN QUERY PLAN SELECT id, best_metric FROM trials WHERE experiment_id=1"
      " ORDER BY best_order, id LIMIT 1");
  assert_true(plan.next());
  assert_true(contains(plan.text(3), "INDEX trials_by_metric"));
  assert_false(plan.next());  // nothing is sorted
}

void a_rollback_of_the_best_leaves_the_best_of_the_rest(void **) {
  const Home home;
  auto run = home.start(searching(true));
  deliver(*run, {metrics(1, "validation", 10, {{"loss", 2}}),
                 metrics(2, "validation", 20, {{"loss", 1}})});
  run->end_run(engine::RunEnd::ok);
  run = home.resume(1);
  deliver(*run, {metrics(1, "validation", 20, {{"loss", 5}})});
  assert_equal(run->best_validation(), 2);
}

void of_equal_validations_the_first_stays_when_the_best_is_rolled_back(void **) {
  const Home home;
  auto run = home.start(searching(true));
  deliver(*run,
          {metrics(1, "validation", 10, {{"loss", 2}}), metrics(2, "validation", 20, {{"loss", 2}}),
           metrics(3, "validation", 30, {{"loss", 1}})});
  run->end_run(engine::RunEnd::ok);
  run = home.resume(1);
  deliver(*run, {metrics(1, "validation", 30, {{"loss", 5}})});
  assert_int_equal(
      home.count("SELECT steps FROM trials JOIN metrics ON metrics.id=best_validation"), 10);
}

void archived_validations_do_not_count(void **) {
  const Home home;
  auto run = home.start(searching(true));
  deliver(*run, {metrics(1, "validation", 10, {{"loss", 1}})});
  run->end_run(engine::RunEnd::ok);
  run = home.resume(1);
  deliver(*run, {metrics(1, "validation", 5, {{"loss", 2}})});
  assert_equal(run->best_validation(), 2);
}

}  // namespace
}  // namespace det::test

int test_best_validation() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_smallest_is_best_unless_the_configuration_says_otherwise),
      cmocka_unit_test(nan_is_worse_than_any_number),
      cmocka_unit_test(infinities_are_numbers),
      cmocka_unit_test(without_a_validation_or_a_metric_there_is_none),
      cmocka_unit_test(other_groups_do_not_count),
      cmocka_unit_test(a_value_that_is_no_number_makes_the_report_refused),
      cmocka_unit_test(texts_of_numbers_are_numbers_and_null_is_none),
      cmocka_unit_test(the_first_of_equal_validations_is_the_best),
      cmocka_unit_test(a_metric_reported_again_with_another_value_does_not_count),
      cmocka_unit_test(the_best_trial_comes_from_an_index),
      cmocka_unit_test(a_rollback_of_the_best_leaves_the_best_of_the_rest),
      cmocka_unit_test(of_equal_validations_the_first_stays_when_the_best_is_rolled_back),
      cmocka_unit_test(archived_validations_do_not_count),
  };
  return cmocka_run_group_tests_name("best_validation", tests, nullptr, nullptr);
}
