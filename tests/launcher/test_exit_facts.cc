// What the exit of a run says, and what it had said itself.
#include "core/launcher/exit_facts.h"

#include "tests/cmocka.h"

namespace det::test {
namespace {

using Kind = launcher::LaunchedExit::Kind;

launcher::LaunchedExit left(Kind kind, int status = 0, bool lost = false) {
  return {7, 1, kind, status, lost};
}

void expect_facts(const launcher::RunFacts &run, bool failed, bool lost = false) {
  assert_int_equal(run.failed, failed);
  assert_int_equal(run.lost, lost);
}

void how_a_process_left_is_recorded_where_it_is_known(void **) {
  assert_equal(launcher::exit_for_record(left(Kind::exited), false), engine::RunExit::ok);
  assert_equal(launcher::exit_for_record(left(Kind::exited, 3), false), engine::RunExit::error);
  assert_equal(launcher::exit_for_record(left(Kind::signaled, 9), false), engine::RunExit::died);
  assert_equal(launcher::exit_for_record(left(Kind::signaled, 9), true), engine::RunExit::killed);
  assert_false(launcher::exit_for_record(left(Kind::unknown), true).has_value());
}

void a_run_fails_by_its_exit_or_by_its_word(void **) {
  expect_facts(launcher::facts_of(left(Kind::exited), false, "ok"), false);
  expect_facts(launcher::facts_of(left(Kind::exited, 1), false, "ok"), true);
  expect_facts(launcher::facts_of(left(Kind::signaled, 11), false, "ok"), true);
  expect_facts(launcher::facts_of(left(Kind::exited), false, "error"), true);
  assert_true(launcher::facts_of(left(Kind::signaled, 9), true, std::nullopt).killed);
  expect_facts(launcher::facts_of(left(Kind::exited, 75), false, "preempted"), false);
  expect_facts(launcher::facts_of(left(Kind::exited, 75), false, "ok"), true);
  expect_facts(launcher::facts_of(left(Kind::exited, 75), false, std::nullopt), true);
}

void where_nobody_knows_how_it_left_its_word_counts(void **) {
  expect_facts(launcher::facts_of(left(Kind::unknown), false, "ok"), false);
  expect_facts(launcher::facts_of(left(Kind::unknown), false, "preempted"), false);
  expect_facts(launcher::facts_of(left(Kind::unknown), false, "died"), true);
  expect_facts(launcher::facts_of(left(Kind::unknown), false, std::nullopt), true);
}

void one_that_was_lost_is_not_when_it_had_said_how_it_left(void **) {
  expect_facts(launcher::facts_of(left(Kind::unknown, 0, true), false, std::nullopt), true, true);
  expect_facts(launcher::facts_of(left(Kind::unknown, 0, true), false, "died"), true, true);
  expect_facts(launcher::facts_of(left(Kind::unknown, 0, true), false, "error"), true, false);
  expect_facts(launcher::facts_of(left(Kind::unknown, 0, true), false, "ok"), false, false);
}

void people_hear_of_those_that_left_badly_by_themselves(void **) {
  assert_string_equal(launcher::complaint_about(left(Kind::exited, 3), false, "error")->c_str(),
                      "trial 7 left with exit code 3; `det logs 7` shows what it printed");
  assert_string_equal(launcher::complaint_about(left(Kind::signaled, 11), false, "died")->c_str(),
                      "trial 7 was ended by signal 11; `det logs 7` shows what it printed");
  assert_false(launcher::complaint_about(left(Kind::signaled, 9), true, "killed").has_value());
  assert_false(launcher::complaint_about(left(Kind::exited), false, "ok").has_value());
  assert_false(launcher::complaint_about(left(Kind::unknown), false, "ok").has_value());
  assert_false(launcher::complaint_about(left(Kind::exited, 75), false, "preempted").has_value());
  assert_true(launcher::complaint_about(left(Kind::exited, 75), false, "ok").has_value());
  assert_true(launcher::complaint_about(left(Kind::exited, 3), false, "preempted").has_value());
}

void a_shell_tells_that_an_entrypoint_names_nothing(void **) {
  const std::vector<std::string> entrypoint{"/bin/sh", "-c", "no-such-program"};
  assert_true(launcher::may_be_unstartable(left(Kind::exited, 127), entrypoint));
  assert_true(launcher::may_be_unstartable(left(Kind::exited, 126), entrypoint));
  assert_false(launcher::may_be_unstartable(left(Kind::exited, 1), entrypoint));
  assert_false(launcher::may_be_unstartable(left(Kind::signaled, 127), entrypoint));
  assert_false(launcher::may_be_unstartable(left(Kind::exited, 127), {"./train", "-c", "x"}));
}

}  // namespace
}  // namespace det::test

int test_exit_facts() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(how_a_process_left_is_recorded_where_it_is_known),
      cmocka_unit_test(a_run_fails_by_its_exit_or_by_its_word),
      cmocka_unit_test(where_nobody_knows_how_it_left_its_word_counts),
      cmocka_unit_test(one_that_was_lost_is_not_when_it_had_said_how_it_left),
      cmocka_unit_test(people_hear_of_those_that_left_badly_by_themselves),
      cmocka_unit_test(a_shell_tells_that_an_entrypoint_names_nothing),
  };
  return cmocka_run_group_tests_name("exit_facts", tests, nullptr, nullptr);
}
