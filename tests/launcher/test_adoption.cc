// A supervisor is killed; what it prepared vanishes, and another takes over what it started.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/json.h"
#include "tests/expect_error.h"
#include "tests/launcher/launching.h"

namespace {

using namespace det;
using namespace det::launcher;
using namespace det::test;
using Kind = LaunchedExit::Kind;

void put(const std::filesystem::path &file, const ProcessIdentity &process) {
  write_file_durably(file, to_wire(process.to_json()));
}

ProcessIdentity identity_in(const std::filesystem::path &file) {
  return ProcessIdentity::from_json(parse_json(read_file(file), file.string()));
}

// Runs `body` in another supervisor, which then dies as by kill -9. Gives the leader it started.
ProcessIdentity in_killed_supervisor(const Launching &here,
                                     const std::function<ProcessIdentity(Launching &)> &body) {
  const std::filesystem::path told = here.directory / "leader";
  const pid_t child = fork();
  if (child == 0) {
    auto *other = new Launching(4);  // never destroyed: a killed process destroys nothing
    const ProcessIdentity leader = body(*other);
    put(told, leader);
    std::filesystem::remove_all(other->directory.path());
    raise(SIGKILL);
  }
  assert_true(child > 0);
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
  return identity_in(told);
}

// A trial of `here`, started by the other supervisor.
ProcessIdentity left_running(const Launching &here, const TrialLaunch &launch) {
  return in_killed_supervisor(here, [&](Launching &other) { return other.start(launch); });
}

void process_prepared_and_not_started_vanishes_with_its_launcher(void **) {
  Launching here;
  const TrialLaunch running = here.script(3, "exec sleep 1000");
  const ProcessIdentity first = in_killed_supervisor(here, [&](Launching &other) {
    const ProcessIdentity waiting = other.prepare(here.script(1, "echo ran >ran"));
    // Those started later hold nothing that would keep it waiting.
    put(here.directory / "running", other.start(running));
    put(here.directory / "last", other.prepare(here.script(4, "echo ran >ran")));
    return waiting;
  });
  const ProcessIdentity last = identity_in(here.directory / "last");
  wait_until([&] { return is_gone(first) && is_gone(last); });
  assert_false(std::filesystem::exists(here.directory / "ran"));
  here.adopt(running, identity_in(here.directory / "running"));
  here.launcher.kill(3);
  here.wait_for_exits(1);
}

void destroyed_launcher_leaves_running_processes_alone(void **) {
  Launching here;
  ProcessIdentity running, prepared;
  {
    Launching other;
    running = other.start(here.script(1, "exec sleep 1000"));
    prepared = other.prepare(here.script(2, "echo ran"));
  }
  wait_until([&] { return is_gone(prepared); });
  assert_int_equal(static_cast<int>(liveness(running)), static_cast<int>(Liveness::alive));
  here.adopt(here.script(1, ""), running);
  here.launcher.kill(1);
  here.wait_for_exits(1);
}

void exit_of_an_adopted_process_is_told(void **) {
  Launching here;
  const TrialLaunch launch =
      here.script(5, "while ! [ -e leave ]; do sleep 0.01; done; echo done; exit 3");
  const ProcessIdentity leader = left_running(here, launch);
  here.adopt(launch, leader);
  assert_true(here.launcher.take_exits().empty());
  assert_int_equal(static_cast<int>(liveness(leader)), static_cast<int>(Liveness::alive));
  write_file_durably(here.directory / "leave", "");
  assert_exit(here.wait_for_exits(1)[0], 5, Kind::unknown, 0);
  assert_string_equal(here.printed(5).c_str(), "done\n");
}

void killing_an_adopted_process_ends_its_session(void **) {
  Launching here;
  const TrialLaunch launch = here.script(5, "set -m; sleep 1000 & echo $! >inner; wait");
  const ProcessIdentity leader = left_running(here, launch);
  const ProcessIdentity inner = process_in(here.directory / "inner");
  here.adopt(launch, leader);
  here.launcher.kill(5);
  assert_exit(here.wait_for_exits(1)[0], 5, Kind::unknown, 0);
  assert_true(is_gone(leader));
  assert_true(is_gone(inner));
}

void what_a_dead_leader_left_is_ended_on_adoption(void **) {
  Launching here;
  const TrialLaunch launch = here.script(5, "sleep 1000 & echo $! >inner; exit 0");
  const ProcessIdentity leader = left_running(here, launch);
  const ProcessIdentity inner = process_in(here.directory / "inner");
  wait_until([&] { return is_gone(leader); });
  assert_int_equal(static_cast<int>(liveness(inner)), static_cast<int>(Liveness::alive));
  here.adopt(launch, leader);
  assert_exit(here.wait_for_exits(1)[0], 5, Kind::unknown, 0);
  assert_true(is_gone(inner));
}

void session_of_another_run_under_the_same_number_is_left_alone(void **) {
  Launching here;
  const TrialLaunch launch = here.script(5, "sleep 1000 & echo $! >inner; exit 0");
  const ProcessIdentity leader = left_running(here, launch);
  const ProcessIdentity inner = process_in(here.directory / "inner");
  wait_until([&] { return is_gone(leader); });
  // As the number would look when it has been used again.
  TrialLaunch earlier = launch;
  earlier.run_id = 4;
  here.adopt(earlier, leader);
  here.wait_for_exits(1);
  assert_int_equal(static_cast<int>(liveness(inner)), static_cast<int>(Liveness::alive));
  here.adopt(launch, leader);
  here.wait_for_exits(1);
  assert_true(is_gone(inner));
}

void process_with_the_number_of_a_dead_leader_is_left_alone(void **) {
  Launching here;
  ProcessIdentity impostor = ProcessIdentity::current();
  impostor.start_ticks -= 1;
  here.adopt(here.script(5, ""), impostor);
  here.launcher.kill(5);
  assert_exit(here.wait_for_exits(1)[0], 5, Kind::unknown, 0);
}

void what_went_before_it_was_adopted_is_lost(void **) {
  Launching here;
  const ProcessIdentity gone = left_running(here, here.script(5, "exit 0"));
  const ProcessIdentity running = left_running(here, here.script(6, "exec sleep 1000"));
  wait_until([&] { return is_gone(gone); });
  here.adopt(here.script(5, ""), gone);
  here.adopt(here.script(6, ""), running);
  assert_true(here.wait_for_exits(1)[0].lost);
  here.launcher.kill(6);
  assert_false(here.wait_for_exits(1)[0].lost);
}

void process_of_another_machine_is_not_adopted(void **) {
  Launching here;
  ProcessIdentity elsewhere = ProcessIdentity::current();
  elsewhere.boot_id = "another";
  elsewhere.host = "farm";
  assert_true(
      contains(expect_error(Code::unsupported, [&] { here.adopt(here.script(5, ""), elsewhere); }),
               "'farm'"));
  expect_error(Code::unsupported, [&] { here.adopt(here.script(5, ""), {}); });
  assert_true(here.launcher.take_exits().empty());
}

void adopted_process_keeps_its_slots(void **) {
  Launching here(3);
  const TrialLaunch launch = here.script(5, "exec sleep 1000", 1);
  const ProcessIdentity leader = left_running(here, launch);
  here.adopt(launch, leader);
  assert_false(here.launcher.has_room(3));
  here.start(here.script(6, "echo $DET_SLOT_IDS"));
  here.wait_for_exits(1);
  assert_string_equal(here.printed(6).c_str(), "[1]\n");
  here.launcher.kill(5);
  here.wait_for_exits(1);
  assert_true(here.launcher.has_room(3));
}

}  // namespace

int test_adoption() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(process_prepared_and_not_started_vanishes_with_its_launcher),
      cmocka_unit_test(destroyed_launcher_leaves_running_processes_alone),
      cmocka_unit_test(exit_of_an_adopted_process_is_told),
      cmocka_unit_test(killing_an_adopted_process_ends_its_session),
      cmocka_unit_test(what_a_dead_leader_left_is_ended_on_adoption),
      cmocka_unit_test(session_of_another_run_under_the_same_number_is_left_alone),
      cmocka_unit_test(process_with_the_number_of_a_dead_leader_is_left_alone),
      cmocka_unit_test(what_went_before_it_was_adopted_is_lost),
      cmocka_unit_test(process_of_another_machine_is_not_adopted),
      cmocka_unit_test(adopted_process_keeps_its_slots),
  };
  return cmocka_run_group_tests_name("adoption", tests, nullptr, nullptr);
}
