// Searches by successive halving told by hand, event by event.
#include "tests/search/traces.h"

namespace det::search {

namespace {

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

}  // namespace

}  // namespace det::search

int test_asha_traces() {
  using namespace det::search;
  const CMUnitTest tests[] = {
      cmocka_unit_test(promotion_trains_the_best_longer),
      cmocka_unit_test(promotion_goes_past_who_exited_early),
      cmocka_unit_test(promotion_replaces_only_invalid_hyperparameters),
      cmocka_unit_test(promotion_of_three_rungs_closes_from_the_bottom),
      cmocka_unit_test(promotion_ends_in_failure_when_all_failed),
      cmocka_unit_test(promotion_prefers_the_older_of_equals_and_stopping_the_newer),
      cmocka_unit_test(stopping_decides_at_once),
      cmocka_unit_test(adaptive_runs_its_brackets_side_by_side),
      cmocka_unit_test(metrics_steer_trials_through_their_rungs),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
