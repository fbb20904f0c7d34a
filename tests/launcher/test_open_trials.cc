// Which trials are to be looked at, and which want a run.
#include "core/launcher/open_trials.h"

#include "tests/cmocka.h"

namespace det::test {
namespace {

engine::TrialStanding standing(std::string_view state, bool done = false) {
  return {std::string(state), false, done, 1};
}

void those_touched_come_in_the_order_in_which_they_were(void **) {
  launcher::OpenTrials trials;
  assert_false(trials.has_touched());
  for (const int64_t id : {3, 1, 2}) trials.touch(id);
  for (const int64_t id : {3, 1, 2}) assert_equal(trials.take_touched(), id);
  assert_false(trials.has_touched());
  assert_false(trials.take_touched().has_value());
}

void one_that_is_touched_twice_is_looked_at_once(void **) {
  launcher::OpenTrials trials;
  for (const int64_t id : {1, 2, 1}) trials.touch(id);
  for (const int64_t id : {1, 2}) assert_equal(trials.take_touched(), id);
  assert_false(trials.take_touched().has_value());
  trials.touch(1);
  assert_equal(trials.take_touched(), 1);
}

void one_that_has_ended_meanwhile_is_left_out(void **) {
  launcher::OpenTrials trials;
  trials.touch(1);
  trials.touch(2);
  trials.remove(1);
  assert_equal(trials.take_touched(), 2);
  trials.remove(2);
  assert_true(trials.empty());
}

void those_with_another_state_are_touched_when_all_are_compared(void **) {
  launcher::OpenTrials trials;
  for (const int64_t id : {1, 2}) {
    trials.touch(id);
    trials.take_touched();
    trials.update(id, standing(engine::state::active));
  }
  trials.touch_all();
  assert_true(trials.has_touched() && trials.all_touched());
  trials.compare({{1, "ACTIVE"}, {2, "PAUSED"}, {3, "ACTIVE"}});
  assert_false(trials.all_touched());
  assert_equal(trials.take_touched(), 2);
  assert_equal(trials.take_touched(), 3);  // nobody knew it
  assert_false(trials.has_touched());
}

void update_tells_whether_the_state_is_another_one(void **) {
  launcher::OpenTrials trials;
  trials.touch(1);
  assert_true(trials.update(1, standing(engine::state::active)));
  assert_false(trials.update(1, standing(engine::state::active, true)));
  assert_true(trials.update(1, standing(engine::state::paused, true)));
}

void one_that_is_active_and_has_work_wants_a_run(void **) {
  launcher::OpenTrials trials;
  assert_false(trials.wants_run(1));
  trials.touch(1);
  assert_false(trials.wants_run(1));
  trials.update(1, standing(engine::state::active));
  assert_true(trials.wants_run(1));
  trials.update(1, standing(engine::state::active, true));
  assert_false(trials.wants_run(1));
  trials.update(1, standing(engine::state::paused));
  assert_false(trials.wants_run(1));
}

}  // namespace
}  // namespace det::test

int test_open_trials() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(those_touched_come_in_the_order_in_which_they_were),
      cmocka_unit_test(one_that_is_touched_twice_is_looked_at_once),
      cmocka_unit_test(one_that_has_ended_meanwhile_is_left_out),
      cmocka_unit_test(those_with_another_state_are_touched_when_all_are_compared),
      cmocka_unit_test(update_tells_whether_the_state_is_another_one),
      cmocka_unit_test(one_that_is_active_and_has_work_wants_a_run),
  };
  return cmocka_run_group_tests_name("open_trials", tests, nullptr, nullptr);
}
