// Searches without rungs told by hand, event by event: who is created, validated and closed, and
// when.
#include "tests/search/traces.h"

namespace det::search {

namespace {

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

void same_operation_twice_is_an_error(void **) {
  Driver driver(asha(2, 2, 8, 4, 2));
  driver.initial();
  create(driver, 1, 2);
  driver.done(1, 4, 0.5);
  assert_true(
      contains(expect_error(Code::invalid, [&] { driver.done(1, 4, 0.4); }), "already completed"));
}

}  // namespace

}  // namespace det::search

int test_traces() {
  using namespace det::search;
  const CMUnitTest tests[] = {
      cmocka_unit_test(random_keeps_as_many_running_as_it_may),
      cmocka_unit_test(random_starts_all_at_once_without_a_limit),
      cmocka_unit_test(random_replaces_invalid_hyperparameters_and_no_failures),
      cmocka_unit_test(shutdown_tells_failures_from_cancels_and_from_a_mixture),
      cmocka_unit_test(single_has_one_trial_whatever_becomes_of_it),
      cmocka_unit_test(grid_goes_from_the_last_point_to_the_first),
      cmocka_unit_test(grid_has_a_trial_for_each_combination),
      cmocka_unit_test(same_operation_twice_is_an_error),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
