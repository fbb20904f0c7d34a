#include <signal.h>
#include <sys/wait.h>

#include <thread>

#include "core/client/embedded_client.h"
#include "core/journal/spool.h"
#include "tests/cmocka.h"
#include "tests/engine/home.h"

namespace det::test {
namespace {

struct Answer {
  std::string state;
  int64_t signalled = 0;
  bool resumable = false;
};

Answer control(const Home &home, engine::Action action,
               engine::Target target = engine::Target::trial) {
  const Json answer = client::open_client(home.path())->control(target, 1, action);
  return {answer.at("state").get<std::string>(), answer.at("signalled").get<int64_t>(),
          !answer.at("resume").is_null()};
}

std::string experiment_state(const Home &home) {
  return home.text("SELECT state FROM experiments WHERE id=1");
}

// A child that starts a trial, does `work` with it, tells that it is ready and waits to be killed.
template <class Work>
pid_t spawn_running(const Home &home, const Work &work) {
  int ready[2];
  assert_int_equal(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto run = home.start();
    work(*run);
    (void)!write(ready[1], "x", 1);
    for (;;) pause();
  }
  close(ready[1]);
  char byte = 0;
  assert_int_equal(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  return child;
}

pid_t spawn_running(const Home &home) {
  return spawn_running(home, [](engine::RunBackend &) {});
}

void bury(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

void a_paused_run_learns_of_it_and_its_trial_stays_paused(void **) {
  const Home home;
  const auto run = home.start();
  const Wake wake;
  bool asked = false;
  std::thread waiter([&] { asked = run->preemption().wait(wake); });
  const Answer answer = control(home, engine::Action::pause);
  waiter.join();
  assert_true(asked);
  assert_string_equal(answer.state.c_str(), "PAUSED");
  assert_int_equal(answer.signalled, 1);
  assert_true(answer.resumable);
  run->preemption().acknowledge();
  run->end_run(engine::RunEnd::ok);
  assert_string_equal(home.text("SELECT state FROM trials").c_str(), "PAUSED");
  assert_string_equal(experiment_state(home).c_str(), "PAUSED");
}

void the_signal_stays_when_the_trial_is_activated(void **) {
  const Home home;
  const auto run = home.start();
  control(home, engine::Action::pause);
  const Answer answer = control(home, engine::Action::activate);
  assert_string_equal(answer.state.c_str(), "ACTIVE");
  const Wake wake;
  assert_true(run->preemption().wait(wake));
  run->preemption().acknowledge();
  run->end_run(engine::RunEnd::ok);
  assert_string_equal(experiment_state(home).c_str(), "ACTIVE");
}

void starting_a_paused_trial_activates_it(void **) {
  const Home home;
  home.start().reset();
  assert_string_equal(control(home, engine::Action::pause).state.c_str(), "PAUSED");
  const auto run = home.resume(1);
  assert_string_equal(experiment_state(home).c_str(), "ACTIVE");
}

void pausing_again_changes_nothing(void **) {
  const Home home;
  const auto run = home.start();
  control(home, engine::Action::pause);
  assert_string_equal(control(home, engine::Action::pause).state.c_str(), "PAUSED");
  assert_int_equal(home.count("SELECT COUNT(*) FROM signals"), 1);
}

void a_canceled_run_ends_its_trial(void **) {
  const Home home;
  const auto run = home.start();
  const Answer answer = control(home, engine::Action::cancel, engine::Target::experiment);
  assert_string_equal(answer.state.c_str(), "STOPPING_CANCELED");
  assert_int_equal(answer.signalled, 1);
  assert_false(answer.resumable);
  assert_code(Code::state, control(home, engine::Action::pause));
  assert_code(Code::state, control(home, engine::Action::activate));
  run->preemption().acknowledge();
  run->end_run(engine::RunEnd::ok);
  assert_string_equal(experiment_state(home).c_str(), "CANCELED");
}

void a_canceled_run_that_fails_is_an_error_of_a_canceled_experiment(void **) {
  const Home home;
  const auto run = home.start();
  control(home, engine::Action::cancel);
  run->end_run(engine::RunEnd::error);
  assert_string_equal(home.text("SELECT state FROM trials").c_str(), "ERROR");
  assert_string_equal(experiment_state(home).c_str(), "CANCELED");
}

void what_does_not_run_is_canceled_at_once(void **) {
  const Home home;
  bury(spawn_running(home));
  const Answer answer = control(home, engine::Action::cancel);
  assert_string_equal(answer.state.c_str(), "CANCELED");
  assert_int_equal(answer.signalled, 0);
  assert_string_equal(home.text("SELECT exit FROM runs").c_str(), "died");
}

void what_does_not_run_is_paused_at_once(void **) {
  const Home home;
  bury(spawn_running(home));
  const Answer answer = control(home, engine::Action::pause);
  assert_string_equal(answer.state.c_str(), "PAUSED");
  assert_int_equal(answer.signalled, 0);
}

void a_finished_trial_can_be_canceled_but_not_paused(void **) {
  const Home home;
  home.start()->end_run(engine::RunEnd::ok);
  assert_code(Code::state, control(home, engine::Action::pause));
  assert_code(Code::state, control(home, engine::Action::activate));
  assert_string_equal(control(home, engine::Action::cancel).state.c_str(), "COMPLETED");
  assert_string_equal(control(home, engine::Action::kill).state.c_str(), "COMPLETED");
}

void a_killed_process_is_gone_and_its_trial_canceled(void **) {
  const Home home;
  const pid_t child = spawn_running(home);
  const Answer answer = control(home, engine::Action::kill);
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
  assert_equal(WTERMSIG(status), SIGKILL);
  assert_string_equal(answer.state.c_str(), "CANCELED");
  assert_string_equal(home.text("SELECT exit FROM runs").c_str(), "killed");
}

void a_process_on_another_host_is_not_killed(void **) {
  const Home home;
  const auto run = home.start();
  home.look().run("UPDATE runs SET process=json_set(process, '$.host', 'far', '$.boot_id', 'x')");
  std::string message;
  assert_int_equal(
      static_cast<int>(code_of([&] { control(home, engine::Action::kill); }, &message)),
      static_cast<int>(Code::state));
  assert_true(contains(message, "on host far"));
}

void sync_ships_what_a_killed_process_left(void **) {
  const Home home;
  const pid_t child = spawn_running(home, [](engine::RunBackend &run) {
    const auto spool = journal::Spool::create(run.run_directory(), journal_of(run)).release();
    const journal::NamedValue value{"loss", 0.5};
    spool->append_metrics("training", 1, &value, 1);
  });
  const auto client = client::open_client(home.path());
  assert_equal(client->sync().at("busy"), 1);
  assert_equal(client->get_trial(1).at("waiting"), 0);  // its owner lives and ships it
  bury(child);
  assert_equal(client->get_trial(1).at("waiting"), 1);
  assert_equal(client->get_trial(1).at("runs")[0].at("state"), "died");
  const Json answer = client->sync();
  assert_string_equal(
      answer.at("journals").dump().c_str(),
      R"([{"trial_id":1,"trial_run_id":1,"reports":1,"lost_bytes":0,"refused":0}])");
  assert_equal(client->get_trial(1).at("waiting"), 0);
  assert_int_equal(client->list_metrics(1, "training", {}).at("metrics").size(), 1);
  assert_true(client->sync().at("journals").empty());
}

}  // namespace
}  // namespace det::test

int test_control() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_paused_run_learns_of_it_and_its_trial_stays_paused),
      cmocka_unit_test(the_signal_stays_when_the_trial_is_activated),
      cmocka_unit_test(starting_a_paused_trial_activates_it),
      cmocka_unit_test(pausing_again_changes_nothing),
      cmocka_unit_test(a_canceled_run_ends_its_trial),
      cmocka_unit_test(a_canceled_run_that_fails_is_an_error_of_a_canceled_experiment),
      cmocka_unit_test(what_does_not_run_is_canceled_at_once),
      cmocka_unit_test(what_does_not_run_is_paused_at_once),
      cmocka_unit_test(a_finished_trial_can_be_canceled_but_not_paused),
      cmocka_unit_test(a_killed_process_is_gone_and_its_trial_canceled),
      cmocka_unit_test(a_process_on_another_host_is_not_killed),
      cmocka_unit_test(sync_ships_what_a_killed_process_left),
  };
  return cmocka_run_group_tests_name("control", tests, nullptr, nullptr);
}
