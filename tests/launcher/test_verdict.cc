// What follows when a process has left: each rule alone, and which goes first.
#include "core/launcher/verdict.h"

#include "core/engine/supervision/transitions.h"
#include "tests/cmocka.h"

namespace det::test {
namespace {

// A run in the middle of its work.
launcher::RunFacts run_in(std::string_view state) {
  launcher::RunFacts run;
  run.state = state;
  run.max_restarts = 2;
  return run;
}
launcher::RunFacts running() { return run_in(engine::state::active); }

void expect(const launcher::RunFacts &run, std::string_view state, bool counts = false,
            std::optional<search::ExitReason> reason = std::nullopt) {
  const launcher::Verdict verdict = launcher::judge(run);
  assert_string_equal(std::string(verdict.state).c_str(), std::string(state).c_str());
  assert_int_equal(verdict.counts, counts);
  assert_equal(verdict.reason, reason);
}

void one_that_was_asked_to_leave_goes_on_later(void **) {
  for (const std::string_view state : {engine::state::active, engine::state::paused}) {
    launcher::RunFacts run = run_in(state);
    run.acknowledged = true;
    expect(run, "");
    run.failed = true;  // it may leave as it likes
    expect(run, "");
  }
}

void one_that_was_killed_has_no_say(void **) {
  launcher::RunFacts run = running();
  run.killed = run.failed = true;
  expect(run, "");
}

void failures_count_until_there_are_too_many(void **) {
  launcher::RunFacts run = running();
  run.failed = true;
  expect(run, "", true);
  run.restarts = 1;
  expect(run, "", true);
  run.restarts = 2;
  expect(run, engine::state::error, true, search::ExitReason::errored);
  run.max_restarts = run.restarts = 0;
  expect(run, engine::state::error, true, search::ExitReason::errored);
}

void one_whose_log_forbids_it_is_not_started_again(void **) {
  launcher::RunFacts run = running();
  run.is_final = true;
  expect(run, engine::state::completed, false, search::ExitReason::user_requested_stop);
  run.acknowledged = true;
  expect(run, "");
  run = running();
  run.is_final = run.failed = true;
  expect(run, engine::state::error, false, search::ExitReason::errored);
  run.lost = true;
  expect(run, "");
}

void one_that_was_lost_is_not_counted(void **) {
  launcher::RunFacts run = running();
  run.lost = run.failed = true;
  run.restarts = 2;
  expect(run, "");
}

void a_command_that_cannot_be_started_is_no_fault_of_its_trial(void **) {
  launcher::RunFacts run = running();
  run.failed = run.unstartable = true;
  run.restarts = 2;
  expect(run, "");
}

void one_that_found_no_space_waits_and_is_not_counted(void **) {
  launcher::RunFacts run = running();
  run.no_space = "'/data'";
  run.failed = true;
  run.restarts = run.max_restarts;
  expect(run, "");
  assert_true(launcher::judge(run).waits_for_space);
  run.state = engine::state::canceling;
  assert_false(launcher::judge(run).waits_for_space);
  run = running();
  run.no_space = "'/data'";
  run.failed = run.killed = true;
  assert_false(launcher::judge(run).waits_for_space);
}

void leaving_without_a_word_is_the_end(void **) {
  launcher::RunFacts run = running();
  expect(run, engine::state::completed, false, search::ExitReason::user_requested_stop);
  run.state = engine::state::paused;  // then it goes on when it is activated
  expect(run, "");
}

void one_that_waits_for_its_promotion_goes_on(void **) {
  launcher::RunFacts run = running();
  run.done = true;
  expect(run, "");
  run.acknowledged = true;
  expect(run, "");
}

void work_that_is_done_is_done(void **) {
  launcher::RunFacts run = running();
  run.done = run.closed = true;
  expect(run, engine::state::completed);
  run.acknowledged = true;
  expect(run, engine::state::completed);
  run.acknowledged = false;
  run.failed = true;
  expect(run, engine::state::error, false, search::ExitReason::errored);
}

void refused_hyperparameters_are_not_tried_again(void **) {
  launcher::RunFacts run = running();
  run.invalid_hp = true;
  expect(run, engine::state::completed, false, search::ExitReason::invalid_hp);
  run.failed = true;
  expect(run, engine::state::completed, false, search::ExitReason::invalid_hp);
}

void what_is_being_ended_ends_as_it_shall(void **) {
  const std::pair<std::string_view, std::string_view> ends[] = {
      {engine::state::canceling, engine::state::canceled},
      {engine::state::killing, engine::state::canceled},
      {engine::state::completing, engine::state::completed},
      {engine::state::failing, engine::state::error}};
  for (const auto &[stopping, end] : ends) {
    launcher::RunFacts run = run_in(stopping);
    run.acknowledged = true;
    assert_string_equal(std::string(launcher::judge(run).state).c_str(), std::string(end).c_str());
    run.acknowledged = false;
    run.failed = true;
    assert_string_equal(std::string(launcher::judge(run).state).c_str(), "ERROR");
    run.killed = true;
    assert_string_equal(std::string(launcher::judge(run).state).c_str(), std::string(end).c_str());
  }
}

void a_trial_without_a_process_ends_at_once(void **) {
  launcher::RunFacts trial = run_in(engine::state::killing);
  trial.done = true;
  const launcher::Verdict verdict = launcher::judge_without_process(trial);
  assert_string_equal(std::string(verdict.state).c_str(), "CANCELED");
  // It waited for a promotion: the search hears of it when it wants more of it.
  assert_false(verdict.reason.has_value());
  trial.done = false;
  assert_equal(launcher::judge_without_process(trial).reason, search::ExitReason::user_canceled);
  assert_true(launcher::judge_without_process(running()).state.empty());
}

void expect_order(std::string_view state, bool by_metrics, launcher::RunOrder::Kind kind,
                  std::string_view reason = {}) {
  const launcher::RunOrder order = launcher::order_for(state, by_metrics);
  assert_equal(order.kind, kind);
  assert_equal(order.reason, reason);
}

void a_run_leaves_when_its_trial_is_paused_canceled_or_stopped(void **) {
  using Kind = launcher::RunOrder::Kind;
  for (const bool by_metrics : {false, true}) {
    expect_order(engine::state::active, by_metrics, Kind::go_on);
    expect_order(engine::state::paused, by_metrics, Kind::leave, "pause");
    expect_order(engine::state::canceling, by_metrics, Kind::leave, "cancel");
    expect_order(engine::state::killing, by_metrics, Kind::end);
    expect_order(engine::state::failing, by_metrics, Kind::end);
  }
  expect_order(engine::state::completing, true, Kind::leave, "stop");
  expect_order(engine::state::completing, false, Kind::go_on);  // it trains to its end
}

void what_is_on_record_of_a_trial_counts_as_well(void **) {
  engine::RunStanding standing;
  standing.trial_state = engine::state::active;
  standing.restarts = 2;
  launcher::RunFacts run;
  run.failed = true;
  assert_true(launcher::judge(launcher::with_standing(run, standing, 3)).state.empty());
  assert_equal(launcher::judge(launcher::with_standing(run, standing, 2)).state,
               engine::state::error);
  standing.acknowledged = true;
  assert_true(launcher::judge(launcher::with_standing(run, standing, 2)).state.empty());
  standing.invalid_hp = true;
  assert_equal(launcher::judge(launcher::with_standing(run, standing, 2)).reason,
               search::ExitReason::invalid_hp);
  standing = {};
  standing.restarts_forbidden = true;
  assert_equal(launcher::judge(launcher::with_standing(run, standing, 3)).state,
               engine::state::error);
  standing.closed = standing.done = true;
  assert_equal(launcher::judge(launcher::with_standing({}, standing, 3)).state,
               engine::state::completed);
}

void states_change_as_the_table_says(void **) {
  assert_true(engine::experiment_may_become(engine::state::paused, engine::state::active));
  assert_true(engine::experiment_may_become(engine::state::canceling, engine::state::killing));
  assert_true(engine::experiment_may_become(engine::state::failing, engine::state::active));
  assert_false(engine::experiment_may_become(engine::state::completing, engine::state::killing));
  assert_false(engine::experiment_may_become(engine::state::canceling, engine::state::paused));
  assert_false(engine::experiment_may_become(engine::state::completed, engine::state::active));
  assert_false(engine::experiment_may_become(engine::state::active, engine::state::completed));
  assert_true(engine::trial_may_become(engine::state::active, engine::state::completed));
  assert_true(engine::trial_may_become(engine::state::completing, engine::state::killing));
  assert_false(engine::trial_may_become(engine::state::failing, engine::state::active));
  assert_false(engine::trial_may_become(engine::state::paused, engine::state::completed));
}

}  // namespace
}  // namespace det::test

int test_verdict() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(one_that_was_asked_to_leave_goes_on_later),
      cmocka_unit_test(one_that_was_killed_has_no_say),
      cmocka_unit_test(failures_count_until_there_are_too_many),
      cmocka_unit_test(one_whose_log_forbids_it_is_not_started_again),
      cmocka_unit_test(one_that_was_lost_is_not_counted),
      cmocka_unit_test(a_command_that_cannot_be_started_is_no_fault_of_its_trial),
      cmocka_unit_test(one_that_found_no_space_waits_and_is_not_counted),
      cmocka_unit_test(leaving_without_a_word_is_the_end),
      cmocka_unit_test(one_that_waits_for_its_promotion_goes_on),
      cmocka_unit_test(work_that_is_done_is_done),
      cmocka_unit_test(refused_hyperparameters_are_not_tried_again),
      cmocka_unit_test(what_is_being_ended_ends_as_it_shall),
      cmocka_unit_test(a_trial_without_a_process_ends_at_once),
      cmocka_unit_test(a_run_leaves_when_its_trial_is_paused_canceled_or_stopped),
      cmocka_unit_test(what_is_on_record_of_a_trial_counts_as_well),
      cmocka_unit_test(states_change_as_the_table_says),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
