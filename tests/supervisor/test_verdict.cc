// What follows when a process has left: each rule alone, and which goes first.
#include "core/launcher/verdict.h"

#include "core/engine/transitions.h"
#include "tests/cmocka.h"

namespace det::test {
namespace {

// A run in the middle of its work.
RunFacts run_in(std::string_view state) {
  RunFacts run;
  run.state = state;
  run.max_restarts = 2;
  return run;
}
RunFacts running() { return run_in(state::active); }

void expect(const RunFacts &run, std::string_view state, bool counts = false,
            std::optional<ExitReason> reason = std::nullopt) {
  const Verdict verdict = judge(run);
  assert_string_equal(std::string(verdict.state).c_str(), std::string(state).c_str());
  assert_int_equal(verdict.counts, counts);
  assert_equal(verdict.reason, reason);
}

void one_that_was_asked_to_leave_goes_on_later(void **) {
  for (const std::string_view state : {state::active, state::paused}) {
    RunFacts run = run_in(state);
    run.acknowledged = true;
    expect(run, "");
    run.failed = true;  // it may leave as it likes
    expect(run, "");
  }
}

void one_that_was_killed_has_no_say(void **) {
  RunFacts run = running();
  run.killed = run.failed = true;
  expect(run, "");
}

void failures_count_until_there_are_too_many(void **) {
  RunFacts run = running();
  run.failed = true;
  expect(run, "", true);
  run.restarts = 1;
  expect(run, "", true);
  run.restarts = 2;
  expect(run, state::error, true, ExitReason::errored);
  run.max_restarts = run.restarts = 0;
  expect(run, state::error, true, ExitReason::errored);
}

void one_whose_log_forbids_it_is_not_started_again(void **) {
  RunFacts run = running();
  run.is_final = true;
  expect(run, state::completed, false, ExitReason::user_requested_stop);
  run.acknowledged = true;
  expect(run, "");
  run = running();
  run.is_final = run.failed = true;
  expect(run, state::error, false, ExitReason::errored);
  run.lost = true;
  expect(run, "");
}

void one_that_was_lost_is_not_counted(void **) {
  RunFacts run = running();
  run.lost = run.failed = true;
  run.restarts = 2;
  expect(run, "");
}

void a_command_that_cannot_be_started_is_no_fault_of_its_trial(void **) {
  RunFacts run = running();
  run.failed = run.unstartable = true;
  run.restarts = 2;
  expect(run, "");
}

void leaving_without_a_word_is_the_end(void **) {
  RunFacts run = running();
  expect(run, state::completed, false, ExitReason::user_requested_stop);
  run.state = state::paused;  // then it goes on when it is activated
  expect(run, "");
}

void one_that_waits_for_its_promotion_goes_on(void **) {
  RunFacts run = running();
  run.done = true;
  expect(run, "");
  run.acknowledged = true;
  expect(run, "");
}

void work_that_is_done_is_done(void **) {
  RunFacts run = running();
  run.done = run.closed = true;
  expect(run, state::completed);
  run.acknowledged = true;
  expect(run, state::completed);
  run.acknowledged = false;
  run.failed = true;
  expect(run, state::error, false, ExitReason::errored);
}

void refused_hyperparameters_are_not_tried_again(void **) {
  RunFacts run = running();
  run.invalid_hp = true;
  expect(run, state::completed, false, ExitReason::invalid_hp);
  run.failed = true;
  expect(run, state::completed, false, ExitReason::invalid_hp);
}

void what_is_being_ended_ends_as_it_shall(void **) {
  const std::pair<std::string_view, std::string_view> ends[] = {
      {state::canceling, state::canceled},
      {state::killing, state::canceled},
      {state::completing, state::completed},
      {state::failing, state::error}};
  for (const auto &[stopping, end] : ends) {
    RunFacts run = run_in(stopping);
    run.acknowledged = true;
    assert_string_equal(std::string(judge(run).state).c_str(), std::string(end).c_str());
    run.acknowledged = false;
    run.failed = true;
    assert_string_equal(std::string(judge(run).state).c_str(), "ERROR");
    run.killed = true;
    assert_string_equal(std::string(judge(run).state).c_str(), std::string(end).c_str());
  }
}

void a_trial_without_a_process_ends_at_once(void **) {
  RunFacts trial = run_in(state::killing);
  trial.done = true;
  const Verdict verdict = judge_without_process(trial);
  assert_string_equal(std::string(verdict.state).c_str(), "CANCELED");
  // It waited for a promotion: the search hears of it when it wants more of it.
  assert_false(verdict.reason.has_value());
  trial.done = false;
  assert_equal(judge_without_process(trial).reason, ExitReason::user_canceled);
  assert_true(judge_without_process(running()).state.empty());
}

void expect_order(std::string_view state, bool by_metrics, RunOrder::Kind kind,
                  std::string_view reason = {}) {
  const RunOrder order = order_for(state, by_metrics);
  assert_equal(order.kind, kind);
  assert_equal(order.reason, reason);
}

void a_run_leaves_when_its_trial_is_paused_canceled_or_stopped(void **) {
  using Kind = RunOrder::Kind;
  for (const bool by_metrics : {false, true}) {
    expect_order(state::active, by_metrics, Kind::go_on);
    expect_order(state::paused, by_metrics, Kind::leave, "pause");
    expect_order(state::canceling, by_metrics, Kind::leave, "cancel");
    expect_order(state::killing, by_metrics, Kind::end);
    expect_order(state::failing, by_metrics, Kind::end);
  }
  expect_order(state::completing, true, Kind::leave, "stop");
  expect_order(state::completing, false, Kind::go_on);  // it trains to its end
}

void what_is_on_record_of_a_trial_counts_as_well(void **) {
  RunStanding standing;
  standing.trial_state = state::active;
  standing.restarts = 2;
  RunFacts run;
  run.failed = true;
  assert_true(judge(with_standing(run, standing, 3)).state.empty());
  assert_equal(judge(with_standing(run, standing, 2)).state, state::error);
  standing.acknowledged = true;
  assert_true(judge(with_standing(run, standing, 2)).state.empty());
  standing.invalid_hp = true;
  assert_equal(judge(with_standing(run, standing, 2)).reason, ExitReason::invalid_hp);
  standing = {};
  standing.restarts_forbidden = true;
  assert_equal(judge(with_standing(run, standing, 3)).state, state::error);
  standing.closed = standing.done = true;
  assert_equal(judge(with_standing({}, standing, 3)).state, state::completed);
}

void states_change_as_the_table_says(void **) {
  assert_true(experiment_may_become(state::paused, state::active));
  assert_true(experiment_may_become(state::canceling, state::killing));
  assert_true(experiment_may_become(state::failing, state::active));
  assert_false(experiment_may_become(state::completing, state::killing));
  assert_false(experiment_may_become(state::canceling, state::paused));
  assert_false(experiment_may_become(state::completed, state::active));
  assert_false(experiment_may_become(state::active, state::completed));
  assert_true(trial_may_become(state::active, state::completed));
  assert_true(trial_may_become(state::completing, state::killing));
  assert_false(trial_may_become(state::failing, state::active));
  assert_false(trial_may_become(state::paused, state::completed));
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
