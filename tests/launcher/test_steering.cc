// What people do to experiments and their trials while they run: pause, activate, cancel, kill.
#include "tests/expect_error.h"
#include "tests/launcher/experiment.h"

namespace det::test {
namespace {

void a_paused_trial_leaves_and_goes_on_when_it_is_activated(void **) {
  Experiment experiment(single());
  experiment.supervise().change_state(engine::state::active);
  assert_string_equal(do_to(experiment, engine::Action::pause).c_str(), "PAUSED");
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM signals WHERE reason='pause'"), 1);
  assert_false(experiment.supervisor().at_rest());  // it is still saving
  experiment.advance();
  assert_true(experiment.supervisor().at_rest());
  assert_string_equal(experiment.state_of(1).c_str(), "PAUSED");
  assert_int_equal(experiment.count("SELECT restarts FROM trials"), 0);
  do_to(experiment, engine::Action::activate);
  assert_true(experiment.trials().launch(1).environment.at("DET_ALLOCATION_ID").ends_with(".2"));
  experiment.run_to_end();
  assert_string_equal(experiment.state().c_str(), "COMPLETED");
  assert_int_equal(experiment.count("SELECT MAX(run_id) FROM runs"), 2);
}

void one_that_is_activated_while_it_leaves_starts_again_afterwards(void **) {
  Experiment experiment(single());
  experiment.supervise().change_state(engine::state::active);
  do_to(experiment, engine::Action::pause);
  do_to(experiment, engine::Action::activate);
  assert_int_equal(experiment.trials().starts(), 1);
  experiment.run_to_end();
  assert_int_equal(experiment.trials().starts(), 2);
  assert_string_equal(experiment.state().c_str(), "COMPLETED");
}

void one_trial_can_be_paused_alone(void **) {
  Experiment experiment(random_of(2));
  experiment.supervise().change_state(engine::state::active);
  do_to(experiment, engine::Action::pause, engine::Target::trial, 1);
  while (experiment.advance()) {
  }
  assert_string_equal(experiment.state_of(1).c_str(), "PAUSED");
  assert_string_equal(experiment.state_of(2).c_str(), "COMPLETED");
  assert_string_equal(experiment.state().c_str(), "ACTIVE");
  do_to(experiment, engine::Action::activate, engine::Target::trial, 1);
  experiment.run_to_end();
  assert_string_equal(experiment.state().c_str(), "COMPLETED");
}

void one_that_ignores_a_pause_is_killed_without_blame(void **) {
  Json config = single();
  config["preemption_timeout"] = 60;
  Experiment experiment(config);
  experiment.supervise().change_state(engine::state::active);
  do_to(experiment, engine::Action::pause);
  experiment.pass(std::chrono::seconds(61));
  experiment.supervisor().step();
  experiment.supervisor().step();
  assert_string_equal(experiment.state_of(1).c_str(), "PAUSED");
  assert_int_equal(experiment.count("SELECT restarts FROM trials"), 0);
  assert_true(experiment.supervisor().at_rest());
}

void canceling_lets_trials_leave_and_ends_the_rest(void **) {
  Experiment experiment(random_of(5, 4), 2);
  experiment.supervise().change_state(engine::state::active);
  assert_string_equal(do_to(experiment, engine::Action::cancel).c_str(), "STOPPING_CANCELED");
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM trials WHERE state='CANCELED'"), 2);
  experiment.run_to_end();
  assert_string_equal(experiment.state().c_str(), "CANCELED");
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM trials WHERE state='CANCELED'"), 4);
}

void killing_ends_it_at_once(void **) {
  Experiment experiment(random_of(5, 4), 2);
  experiment.supervise().change_state(engine::state::active);
  do_to(experiment, engine::Action::kill);
  experiment.supervisor().step();
  assert_string_equal(experiment.state().c_str(), "CANCELED");
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM runs WHERE exit='killed'"), 2);
}

void a_paused_experiment_is_killed_at_once(void **) {
  Experiment experiment(single());
  experiment.supervise().step();
  assert_string_equal(do_to(experiment, engine::Action::kill).c_str(), "CANCELED");
  assert_int_equal(experiment.trials().starts(), 0);
}

void kills_and_cancels_may_be_repeated(void **) {
  Experiment experiment(single());
  experiment.supervise().change_state(engine::state::active);
  do_to(experiment, engine::Action::cancel);
  do_to(experiment, engine::Action::kill);
  assert_string_equal(do_to(experiment, engine::Action::cancel).c_str(), "CANCELED");
  assert_string_equal(do_to(experiment, engine::Action::kill).c_str(), "CANCELED");
  expect_refusal([&] { do_to(experiment, engine::Action::activate); }, Code::state, "CANCELED");
  expect_refusal([&] { do_to(experiment, engine::Action::pause); }, Code::state, "CANCELED");
}

void killing_one_trial_lets_the_search_go_on(void **) {
  Experiment experiment(random_of(3, 3));
  experiment.supervise().change_state(engine::state::active);
  do_to(experiment, engine::Action::kill, engine::Target::trial, 2);
  experiment.run_to_end();
  assert_string_equal(experiment.state_of(2).c_str(), "CANCELED");
  assert_string_equal(experiment.state().c_str(), "COMPLETED");
  expect_refusal([&] { do_to(experiment, engine::Action::pause, engine::Target::trial, 2); },
                 Code::state, "CANCELED");
}

void the_only_trial_killed_cancels_the_experiment(void **) {
  Experiment experiment(single());
  experiment.supervise().change_state(engine::state::active);
  do_to(experiment, engine::Action::kill, engine::Target::trial, 1);
  experiment.run_to_end();
  assert_string_equal(experiment.state().c_str(), "CANCELED");
}

void an_experiment_without_a_supervisor_can_be_ended(void **) {
  Experiment experiment(random_of(3));
  experiment.supervise().step();
  experiment.kill_supervisor();
  const Json answer = experiment.engine().control().act(engine::Target::experiment, experiment.id(),
                                                        engine::Action::kill);
  assert_equal(answer.at("state"), "CANCELED");
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM trials WHERE state<>'CANCELED'"), 0);
}

// What the launcher of these trials names a run is no process.
void a_run_that_only_its_launcher_knows_is_not_taken_for_dead(void **) {
  Experiment experiment(single());
  experiment.supervise().change_state(engine::state::active);
  experiment.kill_supervisor();
  for (const auto &one : {std::pair(engine::Target::experiment, experiment.id()),
                          std::pair(engine::Target::trial, int64_t{1})})
    expect_refusal(
        [&] { experiment.engine().control().act(one.first, one.second, engine::Action::kill); },
        Code::state, "det run --resume 1");
  assert_string_equal(experiment.state().c_str(), "ACTIVE");
  assert_string_equal(experiment.state_of(1).c_str(), "ACTIVE");

  const Json answer = experiment.engine().control().act(engine::Target::experiment, experiment.id(),
                                                        engine::Action::cancel);
  assert_equal(answer.at("state"), "STOPPING_CANCELED");
  assert_int_equal(answer.at("signalled").get<int64_t>(), 1);
  experiment.supervise().step();
  do_to(experiment, engine::Action::kill);
  experiment.run_to_end();
  assert_string_equal(experiment.state().c_str(), "CANCELED");
  assert_int_equal(experiment.trials().starts(), 1);
}

}  // namespace
}  // namespace det::test

int test_steering() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_paused_trial_leaves_and_goes_on_when_it_is_activated),
      cmocka_unit_test(one_that_is_activated_while_it_leaves_starts_again_afterwards),
      cmocka_unit_test(one_trial_can_be_paused_alone),
      cmocka_unit_test(one_that_ignores_a_pause_is_killed_without_blame),
      cmocka_unit_test(canceling_lets_trials_leave_and_ends_the_rest),
      cmocka_unit_test(killing_ends_it_at_once),
      cmocka_unit_test(a_paused_experiment_is_killed_at_once),
      cmocka_unit_test(kills_and_cancels_may_be_repeated),
      cmocka_unit_test(killing_one_trial_lets_the_search_go_on),
      cmocka_unit_test(the_only_trial_killed_cancels_the_experiment),
      cmocka_unit_test(an_experiment_without_a_supervisor_can_be_ended),
      cmocka_unit_test(a_run_that_only_its_launcher_knows_is_not_taken_for_dead),
  };
  return cmocka_run_group_tests_name("steering", tests, nullptr, nullptr);
}
