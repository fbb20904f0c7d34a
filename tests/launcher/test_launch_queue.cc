// Who is started next, and whether one more may be.
#include "core/base/json.h"
#include "core/launcher/launch_queue.h"

#include "core/launcher/run_policy.h"
#include "tests/cmocka.h"

namespace det::test {
namespace {

void those_come_first_whose_work_was_asked_for_first(void **) {
  launcher::LaunchQueue queue;
  queue.add(1, 9);
  queue.add(2, 4);
  queue.add(4, 4);
  queue.add(3, 0);  // it was interrupted
  for (const int64_t id : {3, 2, 4, 1}) {
    assert_equal(queue.first(), id);
    queue.remove(id);
  }
  assert_false(queue.first().has_value());
}

void one_that_waits_keeps_its_place(void **) {
  launcher::LaunchQueue queue;
  queue.add(1, 5);
  queue.add(2, 6);
  queue.add(2, 0);
  assert_int_equal(queue.size(), 2);
  assert_equal(queue.first(), 1);
  queue.remove(2);
  queue.add(2, 0);
  assert_equal(queue.first(), 2);
}

void one_that_does_not_wait_is_removed_without_harm(void **) {
  launcher::LaunchQueue queue;
  queue.add(1, 5);
  queue.remove(2);
  assert_int_equal(queue.size(), 1);
}

void slots_are_counted_over_all_trials(void **) {
  launcher::RunPolicy policy;
  policy.slots_per_trial = 2;
  assert_true(policy.allows_another(1000));
  policy.max_slots = 5;
  assert_true(policy.allows_another(1));
  assert_false(policy.allows_another(2));
  policy.max_slots = 1;
  assert_false(policy.allows_another(0));
}

void a_configuration_may_leave_out_what_is_usual(void **) {
  const launcher::RunPolicy usual = launcher::run_policy(Json{{"resources", nullptr}});
  assert_int_equal(usual.slots_per_trial, 1);
  assert_int_equal(usual.max_slots, 0);
  assert_int_equal(usual.max_restarts, 5);
  assert_int_equal(usual.preemption_timeout.count(), 3600);
  const launcher::RunPolicy given =
      launcher::run_policy(Json{{"resources", {{"slots_per_trial", 2}, {"max_slots", 6}}},
                                {"max_restarts", 0},
                                {"preemption_timeout", 60}});
  assert_int_equal(given.slots_per_trial, 2);
  assert_int_equal(given.max_slots, 6);
  assert_int_equal(given.max_restarts, 0);
  assert_int_equal(given.preemption_timeout.count(), 60);
}

void slots_at_once_are_those_of_the_trials_that_there_can_be(void **) {
  const Json two_slots{{"slots_per_trial", 2}};
  const auto slots = [](Json searcher, const Json &resources) {
    return launcher::slots_at_once(
        Json{{"searcher", std::move(searcher)}, {"resources", resources}});
  };
  assert_int_equal(slots({{"name", "single"}, {"max_trials", 5}}, two_slots), 2);
  assert_int_equal(slots({{"name", "random"}, {"max_trials", 3}}, two_slots), 6);
  assert_int_equal(
      slots({{"name", "random"}, {"max_trials", 3}, {"max_concurrent_trials", 2}}, two_slots), 4);
  assert_int_equal(slots({{"name", "random"}, {"max_trials", 3}}, {{"max_slots", 2}}), 2);
  assert_int_equal(slots({{"name", "custom"}}, two_slots), 0);
  assert_int_equal(slots({{"name", "random"}, {"max_trials", INT64_MAX}}, two_slots), 1 << 21);
  assert_true(slots({{"name", "random"}, {"max_trials", 9}}, {{"slots_per_trial", INT64_MAX}}) > 0);
}

void trials_that_metrics_steer_train_to_max_time_or_max_length(void **) {
  assert_int_equal(
      launcher::length_by_metrics(Json{{"searcher", {{"max_time", 8}, {"max_length", 3}}}}), 8);
  assert_int_equal(
      launcher::length_by_metrics(Json{{"searcher", {{"max_length", {{"epochs", 3}}}}}}), 3);
}

}  // namespace
}  // namespace det::test

int test_launch_queue() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(those_come_first_whose_work_was_asked_for_first),
      cmocka_unit_test(one_that_waits_keeps_its_place),
      cmocka_unit_test(one_that_does_not_wait_is_removed_without_harm),
      cmocka_unit_test(slots_are_counted_over_all_trials),
      cmocka_unit_test(a_configuration_may_leave_out_what_is_usual),
      cmocka_unit_test(slots_at_once_are_those_of_the_trials_that_there_can_be),
      cmocka_unit_test(trials_that_metrics_steer_train_to_max_time_or_max_length),
  };
  return cmocka_run_group_tests_name("launch_queue", tests, nullptr, nullptr);
}
