// Searches told by hand, event by event: who is created, validated and closed, and when.
#include <cmath>

#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/search/driver.h"

namespace det {

namespace {

void expect(const std::string &answer, const char *expected) {
  assert_string_equal(answer.c_str(), expected);
}

void expect_near(double value, double expected) {
  if (!(std::fabs(value - expected) <= 1e-4)) print_error("%g, not %g\n", value, expected);
  assert_true(std::fabs(value - expected) <= 1e-4);
}

Json config(Json searcher, Json hyperparameters = Json::object()) {
  searcher["metric"] = "loss";
  return {{"searcher", std::move(searcher)},
          {"hyperparameters", std::move(hyperparameters)},
          {"reproducibility", {{"experiment_seed", 0}}}};
}

Json random_of(uint64_t trials, uint64_t concurrent) {
  return config({{"name", "random"},
                 {"max_trials", trials},
                 {"max_concurrent_trials", concurrent},
                 {"max_length", {{"batches", 10}}}});
}

Json asha(uint64_t rungs, double divisor, uint64_t length, uint64_t trials, uint64_t concurrent,
          bool smaller_is_better = true, bool stop_once = false) {
  return config({{"name", "async_halving"},
                 {"num_rungs", rungs},
                 {"divisor", divisor},
                 {"max_length", {{"batches", length}}},
                 {"max_trials", trials},
                 {"max_concurrent_trials", concurrent},
                 {"smaller_is_better", smaller_is_better},
                 {"stop_once", stop_once}});
}

// Creates the trials that have been decided on, as their processes would be.
void create(Driver &driver, size_t first, size_t last) {
  for (size_t trial = first; trial <= last; ++trial) driver.created(trial);
}

void random_keeps_as_many_running_as_it_may(void **) {
  Driver driver(random_of(3, 2));
  expect(driver.initial(), "C1 V1:10 X1 C2 V2:10 X2");
  create(driver, 1, 2);
  expect_near(driver.progress(), 0);
  driver.units(1, 10);
  expect(driver.done(1, 10, 0.1), "");
  expect_near(driver.progress(), 0.3333);
  expect(driver.closed(1), "C3 V3:10 X3");
  create(driver, 3, 3);
  driver.units(2, 10);
  expect(driver.done(2, 10, 0.1), "");
  expect(driver.closed(2), "");
  expect_near(driver.progress(), 0.6667);
  expect(driver.done(3, 10, 0.1), "");
  expect(driver.closed(3), "end");
  expect_near(driver.progress(), 1);
  assert_string_equal(driver.id(1).c_str(), "ac0a7f8c-2faa-4497-b5a6-16b7c0cc21d8");
  assert_int_equal(driver.trials()[0].trial_seed, 441365315);
}

void random_starts_all_at_once_without_a_limit(void **) {
  Driver driver(random_of(4, 0));
  expect(driver.initial(), "C1 V1:10 X1 C2 V2:10 X2 C3 V3:10 X3 C4 V4:10 X4");
}

void random_replaces_invalid_hyperparameters_and_no_failures(void **) {
  Driver driver(random_of(3, 2));
  driver.initial();
  create(driver, 1, 2);
  expect(driver.exit(1, ExitReason::invalid_hp), "");
  expect(driver.exit(1, ExitReason::errored), "");
  expect(driver.closed(1), "C3 V3:10 X3");
  create(driver, 3, 3);
  expect_near(driver.progress(), 0);
  expect(driver.exit(2, ExitReason::errored), "");
  expect(driver.closed(2), "C4 V4:10 X4");
  create(driver, 4, 4);
  expect(driver.closed(3), "");
  expect(driver.closed(4), "end");
  expect_near(driver.progress(), 1);
}

void shutdown_tells_failures_from_cancels_and_from_a_mixture(void **) {
  const auto end_of = [](ExitReason first, ExitReason second) {
    Driver driver(random_of(2, 2));
    driver.initial();
    create(driver, 1, 2);
    driver.exit(1, first);
    expect(driver.closed(1), "");
    driver.exit(2, second);
    return driver.closed(2);
  };
  expect(end_of(ExitReason::errored, ExitReason::errored), "end failure");
  expect(end_of(ExitReason::user_canceled, ExitReason::user_canceled), "end cancel");
  expect(end_of(ExitReason::errored, ExitReason::user_canceled), "end");
  expect(end_of(ExitReason::user_requested_stop, ExitReason::user_requested_stop), "end");
}

void single_has_one_trial_whatever_becomes_of_it(void **) {
  for (const ExitReason reason : {ExitReason::errored, ExitReason::invalid_hp}) {
    Driver driver(config({{"name", "single"}, {"max_length", 7}}));
    expect(driver.initial(), "C1 V1:7 X1");
    driver.created(1);
    driver.exit(1, reason);
    expect(driver.closed(1), reason == ExitReason::errored ? "end failure" : "end");
  }
}

void grid_goes_from_the_last_point_to_the_first(void **) {
  Driver driver(config({{"name", "grid"}, {"max_concurrent_trials", 2}, {"max_length", 10}},
                       {{"a", {{"type", "int"}, {"minval", 0}, {"maxval", 3}, {"count", 4}}}}));
  expect(driver.initial(), "C1 V1:10 X1 C2 V2:10 X2");
  create(driver, 1, 2);
  driver.units(1, 10);
  driver.done(1, 10, 0);
  expect_near(driver.progress(), 0.25);
  expect(driver.closed(1), "C3 V3:10 X3");
  // Invalid hyperparameters are a point like any other.
  driver.exit(2, ExitReason::invalid_hp);
  expect(driver.closed(2), "C4 V4:10 X4");
  create(driver, 3, 4);
  expect_near(driver.progress(), 0.5);
  driver.restore(driver.search().snapshot());
  expect_near(driver.progress(), 0.5);
  expect(driver.closed(3), "");
  expect(driver.closed(4), "end");
  for (int64_t i = 0; i < 4; ++i)
    assert_int_equal(driver.trials()[i].hparams.at("a").get<int>(), 3 - i);
  assert_string_equal(driver.id(3).c_str(), "155159a5-f2d6-4662-a4b7-0570573a2b4c");
}

void grid_has_a_trial_for_each_combination(void **) {
  const auto range = [](uint64_t count) {
    return Json{{"type", "double"}, {"minval", 0}, {"maxval", 1}, {"count", count}};
  };
  Driver driver(
      config({{"name", "grid"}, {"max_concurrent_trials", 0}, {"max_length", {{"epochs", 300}}}},
             {{"a", range(2)}, {"b", range(1)}, {"c", range(3)}}));
  expect(driver.initial(),
         "C1 V1:300 X1 C2 V2:300 X2 C3 V3:300 X3 C4 V4:300 X4 C5 V5:300 X5 C6 V6:300 X6");
}

void promotion_trains_the_best_longer(void **) {
  Driver driver(asha(3, 3, 9000, 12, 16));
  driver.initial();
  assert_int_equal(driver.trials().size(), 12);
  create(driver, 1, 12);
  const char *answers[] = {"", "", "V1:3000", "", "", "V2:3000",
                           "", "", "V3:3000", "", "", "V4:3000 X5 X6 X7 X8 X9 X10 X11 X12"};
  for (size_t trial = 1; trial <= 12; ++trial) {
    expect(driver.done(trial, 1000, 0.01 * static_cast<double>(trial)), answers[trial - 1]);
    expect_near(driver.progress(), static_cast<double>(trial) / 14.4);
  }
  expect(driver.done(1, 3000, 0.01), "");
  expect(driver.done(2, 3000, 0.02), "");
  expect(driver.done(3, 3000, 0.03), "V1:9000");
  expect(driver.done(4, 3000, 0.04), "X2 X3 X4");
  expect(driver.done(1, 9000, 0.01), "X1");
  for (size_t trial = 12; trial >= 2; --trial) expect(driver.closed(trial), "");
  expect_near(driver.progress(), 0.9167);
  expect(driver.closed(1), "end");
  expect_near(driver.progress(), 1);
}

void promotion_goes_past_who_exited_early(void **) {
  Driver driver(asha(3, 3, 9000, 12, 16));
  driver.initial();
  create(driver, 1, 12);
  expect(driver.done(1, 1000, 0.10), "");
  expect(driver.done(2, 1000, 0.11), "");
  expect(driver.exit(3, ExitReason::user_requested_stop), "V1:3000");
  expect(driver.done(4, 1000, 0.01), "V4:3000");
  expect(driver.done(5, 1000, 0.02), "");
  expect(driver.done(6, 1000, 0.03), "V5:3000");
  expect(driver.done(7, 1000, 0.04), "");
  expect(driver.done(8, 1000, 0.05), "");
  expect(driver.done(9, 1000, 0.06), "V6:3000");
  expect(driver.done(10, 1000, 0.07), "");
  expect(driver.done(11, 1000, 0.08), "");
  expect(driver.done(12, 1000, 0.09), "V7:3000 X8 X9 X10 X11 X12 X2");
  expect(driver.done(1, 3000, 0.10), "");
  expect(driver.done(4, 3000, 0.01), "");
  expect(driver.done(5, 3000, 0.02), "V4:9000");
  expect(driver.done(6, 3000, 0.03), "");
  expect(driver.done(7, 3000, 0.04), "X5 X6 X7 X1");
  expect(driver.done(4, 9000, 0.01), "X4");
}

void promotion_replaces_only_invalid_hyperparameters(void **) {
  const auto start = [](bool smaller) {
    auto driver = std::make_unique<Driver>(asha(2, 2, 8, 4, 2, smaller));
    expect(driver->initial(), "C1 V1:4 C2 V2:4");
    create(*driver, 1, 2);
    if (smaller) {
      expect(driver->done(1, 4, 0.5), "C3 V3:4");
      driver->created(3);
      expect_near(driver->progress(), 0.2083);
    }
    return driver;
  };
  const auto normal = start(true);
  expect(normal->done(2, 4, 0.3), "V2:8");
  expect(normal->done(3, 4, 0.7), "C4 V4:4");
  normal->created(4);
  expect(normal->done(2, 8, 0.3), "X2");
  expect(normal->done(4, 4, 0.1), "V4:8 X1 X3");
  expect_near(normal->progress(), 0.8333);
  expect(normal->done(4, 8, 0.1), "X4");
  for (size_t trial = 1; trial <= 3; ++trial) expect(normal->closed(trial), "");
  expect(normal->closed(4), "end");
  expect_near(normal->progress(), 1);

  const auto invalid = start(true);
  expect(invalid->exit(2, ExitReason::invalid_hp), "X2 C4 V4:4");
  invalid->created(4);
  expect(invalid->closed(2), "");
  expect(invalid->done(3, 4, 0.7), "V1:8");
  expect(invalid->done(4, 4, 0.1), "V4:8");
  expect(invalid->done(1, 8, 0.5), "X1 C5 V5:4");
  invalid->created(5);
  expect(invalid->done(4, 8, 0.1), "X4");
  expect(invalid->done(5, 4, 0.2), "V5:8 X3");
  expect_near(invalid->progress(), 0.8333);
  expect(invalid->done(5, 8, 0.2), "X5");
  for (const size_t trial : {1, 3, 4}) expect(invalid->closed(trial), "");
  expect(invalid->closed(5), "end");

  const auto errored = start(true);
  expect(errored->exit(2, ExitReason::errored), "V1:8");
  expect(errored->closed(2), "");
  expect(errored->done(3, 4, 0.7), "C4 V4:4");
  errored->created(4);
  expect(errored->done(1, 8, 0.5), "X1");
  expect(errored->done(4, 4, 0.1), "V4:8 X3");
  expect(errored->done(4, 8, 0.1), "X4");

  const auto larger = start(false);
  expect(larger->done(1, 4, 0.5), "C3 V3:4");
  larger->created(3);
  expect(larger->done(2, 4, 0.3), "V1:8");
  expect(larger->done(3, 4, 0.7), "V3:8");
  expect(larger->done(1, 8, 0.5), "X1 C4 V4:4");
  larger->created(4);
  expect(larger->done(3, 8, 0.7), "X3");
  expect(larger->done(4, 4, 0.1), "X2 X4");
}

void promotion_of_three_rungs_closes_from_the_bottom(void **) {
  Driver driver(asha(3, 3, 9, 6, 3));
  expect(driver.initial(), "C1 V1:1 C2 V2:1 C3 V3:1");
  create(driver, 1, 3);
  expect(driver.done(1, 1, 0.5), "C4 V4:1");
  create(driver, 4, 4);
  expect(driver.done(2, 1, 0.3), "C5 V5:1");
  create(driver, 5, 5);
  expect(driver.done(3, 1, 0.7), "V2:3");
  expect(driver.done(4, 1, 0.1), "V4:3");
  expect(driver.done(5, 1, 0.2), "C6 V6:1");
  create(driver, 6, 6);
  expect(driver.done(2, 3, 0.3), "");
  expect(driver.done(4, 3, 0.1), "");
  expect(driver.done(6, 1, 0.6), "V5:3 X1 X6 X3");
  expect(driver.done(5, 3, 0.2), "V4:9 X5 X2");
  expect(driver.done(4, 9, 0.1), "X4");
}

void promotion_ends_in_failure_when_all_failed(void **) {
  Driver driver(asha(2, 2, 8, 3, 2));
  driver.initial();
  create(driver, 1, 2);
  expect(driver.exit(1, ExitReason::errored), "C3 V3:4");
  driver.created(3);
  expect(driver.closed(1), "");
  expect(driver.exit(2, ExitReason::errored), "");
  expect(driver.closed(2), "");
  expect(driver.exit(3, ExitReason::errored), "");
  expect(driver.closed(3), "end failure");
}

void promotion_prefers_the_older_of_equals_and_stopping_the_newer(void **) {
  Driver promotion(asha(2, 2, 8, 4, 2));
  promotion.initial();
  create(promotion, 1, 2);
  promotion.done(1, 4, 1);
  promotion.created(3);
  expect(promotion.done(2, 4, 1), "V1:8");
  Driver stopping(asha(2, 2, 8, 4, 2, true, true));
  stopping.initial();
  create(stopping, 1, 2);
  expect(stopping.done(1, 4, 1), "V1:8");
  expect(stopping.done(2, 4, 1), "V2:8");
}

void stopping_decides_at_once(void **) {
  Driver driver(asha(3, 3, 9, 6, 3, true, true));
  driver.initial();
  create(driver, 1, 3);
  expect(driver.done(1, 1, 0.5), "V1:3");
  expect(driver.done(2, 1, 0.3), "V2:3");
  expect(driver.done(3, 1, 0.7), "X3 C4 V4:1");
  driver.created(4);
  expect(driver.done(1, 3, 0.5), "V1:9");
  expect(driver.done(2, 3, 0.3), "V2:9");
  expect(driver.done(4, 1, 0.1), "V4:3");
  expect(driver.done(1, 9, 0.5), "X1 C5 V5:1");
  driver.created(5);
  expect(driver.done(2, 9, 0.3), "X2 C6 V6:1");
  driver.created(6);
  expect(driver.done(4, 3, 0.1), "V4:9");
  expect(driver.done(5, 1, 0.2), "X5");
  expect(driver.done(6, 1, 0.6), "X6");
  expect(driver.done(4, 9, 0.1), "X4");
}

void adaptive_runs_its_brackets_side_by_side(void **) {
  Driver driver(config({{"name", "adaptive_asha"},
                        {"max_length", {{"batches", 900}}},
                        {"max_trials", 5},
                        {"divisor", 3},
                        {"max_rungs", 2}}));
  expect(driver.initial(), "C1 V1:300 C2 V2:300 C3 V3:300 C4 V4:900 C5 V5:900");
  create(driver, 1, 5);
  const double progress[] = {0.1389, 0.2778, 0.4167, 0.625, 0.8333};
  const char *answers[] = {"", "", "V1:900 X2 X3", "X4", "X5"};
  for (size_t trial = 1; trial <= 5; ++trial) {
    expect(driver.done(trial, trial <= 3 ? 300 : 900, 0.1 * static_cast<double>(trial)),
           answers[trial - 1]);
    expect_near(driver.progress(), progress[trial - 1]);
  }
  expect(driver.done(1, 900, 0.1), "X1");
  for (size_t trial = 1; trial <= 4; ++trial) expect(driver.closed(trial), "");
  expect(driver.closed(5), "end");
  expect_near(driver.progress(), 1);
}

void metrics_steer_trials_through_their_rungs(void **) {
  Driver driver(config({{"name", "async_halving"},
                        {"num_rungs", 3},
                        {"divisor", 3},
                        {"time_metric", "batches"},
                        {"max_time", 900},
                        {"max_trials", 5},
                        {"max_concurrent_trials", 2}}),
                SearchRules::metrics);
  const auto report = [&](size_t trial, uint64_t batches, double loss) {
    return driver.report(trial, {{"batches", batches}, {"loss", loss}});
  };
  expect(driver.initial(), "C1 C2");
  create(driver, 1, 2);
  expect(report(1, 50, 0.5), "");
  expect(report(1, 100, 0.5), "");
  expect(report(2, 350, 0.4), "");
  expect(report(1, 300, 0.45), "S1 C3");
  driver.created(3);
  expect(report(3, 100, 0.3), "");
  expect(report(2, 900, 0.2), "S2 C4");
  driver.created(4);
  expect(report(3, 300, 0.1), "");
}

void same_operation_twice_is_an_error(void **) {
  Driver driver(asha(2, 2, 8, 4, 2));
  driver.initial();
  create(driver, 1, 2);
  driver.done(1, 4, 0.5);
  assert_true(
      contains(expect_error(Code::invalid, [&] { driver.done(1, 4, 0.4); }), "already completed"));
}

}  // namespace

}  // namespace det

int main() {
  using namespace det;
  const CMUnitTest tests[] = {
      cmocka_unit_test(random_keeps_as_many_running_as_it_may),
      cmocka_unit_test(random_starts_all_at_once_without_a_limit),
      cmocka_unit_test(random_replaces_invalid_hyperparameters_and_no_failures),
      cmocka_unit_test(shutdown_tells_failures_from_cancels_and_from_a_mixture),
      cmocka_unit_test(single_has_one_trial_whatever_becomes_of_it),
      cmocka_unit_test(grid_goes_from_the_last_point_to_the_first),
      cmocka_unit_test(grid_has_a_trial_for_each_combination),
      cmocka_unit_test(promotion_trains_the_best_longer),
      cmocka_unit_test(promotion_goes_past_who_exited_early),
      cmocka_unit_test(promotion_replaces_only_invalid_hyperparameters),
      cmocka_unit_test(promotion_of_three_rungs_closes_from_the_bottom),
      cmocka_unit_test(promotion_ends_in_failure_when_all_failed),
      cmocka_unit_test(promotion_prefers_the_older_of_equals_and_stopping_the_newer),
      cmocka_unit_test(stopping_decides_at_once),
      cmocka_unit_test(adaptive_runs_its_brackets_side_by_side),
      cmocka_unit_test(metrics_steer_trials_through_their_rungs),
      cmocka_unit_test(same_operation_twice_is_an_error),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
