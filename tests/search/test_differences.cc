// Where ours differs from the platform on purpose, and what it does instead: docs/search.md says
// why.
#include <map>

#include "core/base/error.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/search/driver.h"
#include "tests/search/recorded.h"

namespace det::search {

namespace {

void expect(const std::string &answer, const char *expected) {
  assert_string_equal(answer.c_str(), expected);
}

// Told what was recorded until ours says something else. Gives what that was, and the event.
std::string first_difference(const Json &run, Driver &driver) {
  for (const Json &event : run.at("log")) {
    const std::string answer = tell_or_error(driver, event);
    if (answer == (event.contains("error") ? "error" : expected_words(event))) continue;
    const std::string trial = event.at("trial").dump();
    return event.at("event").get<std::string>() + " " + trial + ": " + answer;
  }
  return "";
}

void expect_difference(const char *name, const char *expected) {
  const Json run = read_vectors(std::string("runs/") + name + ".json");
  Driver driver(config_of(run), rules_of(run));
  const std::string difference = first_difference(run, driver);
  if (difference != expected) print_error("%s: %s\n", name, difference.c_str());
  assert_string_equal(difference.c_str(), expected);
}

void metrics_that_are_not_finite_are_the_worst(void **) {
  expect_difference("asha-nan-float", "validation_completed 4: V4:8 X3 X2");
  expect_difference("asha-nan-float-first", "validation_completed 2: V2:8");
  expect_difference("asha-nan-string", "validation_completed 2: V1:8");
  expect_difference("asha-infinities-float", "validation_completed 4: V3:8");
  expect_difference("asha_stop-nan-string", "validation_completed 2: X2 C3 V3:4");
  expect_difference("v038-asha-nan-float", "validation 3: ");
  expect_difference("v038-asha-nan-string", "validation 2: S2 C3");
  // Infinity is the worst for the platform as well.
  expect_difference("v038-asha-infinity-float", "");
}

void searches_without_a_single_trial_are_refused(void **) {
  for (const char *name :
       {"grid-no-hyperparameters", "grid-empty-categorical", "v038-grid-no-hyperparameters"}) {
    const Json run = read_vectors(std::string("runs/") + name + ".json");
    expect_error(Code::invalid, [&] { make_search(config_of(run), rules_of(run)); });
  }
}

void rungs_of_equal_lengths_are_refused(void **) {
  const Json run = read_vectors("runs/asha-equal-rung-lengths.json");
  const std::string message =
      expect_error(Code::invalid, [&] { make_search(config_of(run), rules_of(run)); });
  assert_true(contains(message, "1, 1, 2"));
}

void trials_gone_without_a_word_free_their_place(void **) {
  const Json run = read_vectors("runs/asha-small-closed-only-hang.json");
  Driver driver(config_of(run));
  expect(first_difference(run, driver), "closed 2: V1:8");
  expect(driver.done(3, 4, 0.7), "C4 V4:4");
  driver.created(4);
  expect(driver.done(1, 8, 0.5), "X1");
  expect(driver.closed(1), "");
  expect(driver.done(4, 4, 0.1), "V4:8 X3");
  expect(driver.closed(3), "");
  expect(driver.done(4, 8, 0.1), "X4");
  expect(driver.closed(4), "end");
}

void trials_killed_while_they_wait_keep_their_result_and_are_gone_past(void **) {
  const Json run = read_vectors("runs/asha-waiting-trial-killed.json");
  Driver driver(config_of(run));
  expect(first_difference(run, driver), "exited_early 2: ");
  expect(driver.closed(2), "");
  expect(driver.done(1, 8, 0.5), "X1 C4 V4:4");
  driver.created(4);
  expect(driver.closed(1), "");
  expect(driver.done(3, 4, 0.7), "");
  // This promotes trial 2, which is gone: as if it had been the worst of the upper rung.
  expect(driver.done(4, 4, 0.8), "X3 X4");
  expect(driver.closed(3), "");
  expect(driver.closed(4), "end");
  assert_equal(driver.progress(), 1);

  expect_difference("asha-waiting-trial-killed-2", "exited_early 1: ");
}

void crashes_after_the_last_operation_change_nothing(void **) {
  for (const bool stop_once : {false, true}) {
    Json config = config_of(read_vectors("runs/asha-waiting-trial-killed.json"));
    config["searcher"]["stop_once"] = stop_once;
    config["searcher"]["num_rungs"] = 1;
    Driver driver(config);
    driver.initial();
    driver.created(1);
    driver.created(2);
    expect(driver.done(1, 8, 0.5), "X1 C3 V3:8");
    expect(driver.exit(1, ExitReason::errored), "");
    expect(driver.closed(1), "");
  }
}

// A trial with invalid hyperparameters in an upper rung takes its results along: the base rung
// fills up a second time, and may promote a trial that was closed the first time.
void closed_trials_are_not_promoted(void **) {
  Json config = config_of(read_vectors("runs/asha-waiting-trial-killed.json"));
  config["searcher"]["max_concurrent_trials"] = 4;
  Driver driver(config);
  driver.initial();
  for (size_t trial = 1; trial <= 4; ++trial) driver.created(trial);
  expect(driver.done(1, 4, 0.1), "");
  expect(driver.done(2, 4, 0.2), "V1:8");
  expect(driver.done(3, 4, 0.3), "");
  expect(driver.done(4, 4, 0.4), "V2:8 X3 X4");
  expect(driver.exit(1, ExitReason::invalid_hp), "X1 C5 V5:4");
  driver.created(5);
  expect(driver.done(5, 4, 0.5), "X5");
}

void reports_of_stopped_trials_are_ignored(void **) {
  expect_difference("v038-asha-stop-ignored-by-trial", "validation 2: ");
  expect_difference("v038-asha-script-stopped-trial-reports", "validation 2: ");
  expect_difference("v038-asha-script-out-of-order-steps", "exited_early 1: ");
}

void stopped_trials_stay_stopped_after_a_restore(void **) {
  const Json run = read_vectors("runs/v038-asha-stop-ignored-by-trial.json");
  Driver driver(config_of(run), SearchRules::metrics);
  first_difference(run, driver);
  driver.restore(driver.search().snapshot());
  expect(driver.report(2, {{"batches", 90}, {"loss", 0}}), "");
}

}  // namespace

}  // namespace det::search

int test_differences() {
  using namespace det::search;
  const CMUnitTest tests[] = {
      cmocka_unit_test(metrics_that_are_not_finite_are_the_worst),
      cmocka_unit_test(searches_without_a_single_trial_are_refused),
      cmocka_unit_test(rungs_of_equal_lengths_are_refused),
      cmocka_unit_test(trials_gone_without_a_word_free_their_place),
      cmocka_unit_test(trials_killed_while_they_wait_keep_their_result_and_are_gone_past),
      cmocka_unit_test(crashes_after_the_last_operation_change_nothing),
      cmocka_unit_test(closed_trials_are_not_promoted),
      cmocka_unit_test(reports_of_stopped_trials_are_ignored),
      cmocka_unit_test(stopped_trials_stay_stopped_after_a_restore),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
