// Real processes: how they start, what they are given, and how they leave.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "core/base/json.h"
#include "core/launcher/local/machine.h"
#include "core/launcher/program.h"
#include "tests/expect_error.h"
#include "tests/launcher/launching.h"

namespace {

using namespace det;
using namespace det::launcher;
using namespace det::test;
using Kind = LaunchedExit::Kind;

void exit_code_and_signal_are_told(void **) {
  Launching here;
  here.start(here.script(1, "exit 0"));
  here.start(here.script(2, "exit 7"));
  here.start(here.script(3, "kill -9 $$"));
  std::vector<LaunchedExit> exits = here.wait_for_exits(3);
  std::ranges::sort(exits, {}, &LaunchedExit::trial_id);
  assert_exit(exits[0], 1, Kind::exited, 0);
  assert_exit(exits[1], 2, Kind::exited, 7);
  assert_exit(exits[2], 3, Kind::signaled, SIGKILL);
  assert_int_equal(exits[0].run_id, 1);
}

void exit_is_told_once(void **) {
  Launching here;
  here.start(here.script(1, "exit 0"));
  here.wait_for_exits(1);
  pollfd news{here.launcher.exit_fd(), POLLIN, 0};
  assert_int_equal(poll(&news, 1, 0), 0);
  assert_true(here.launcher.take_exits().empty());
  here.start(here.script(1, "exit 3"));
  assert_exit(here.wait_for_exits(1)[0], 1, Kind::exited, 3);
}

void nothing_runs_before_go(void **) {
  Launching here;
  const ProcessIdentity leader = here.prepare(here.script(1, "echo ran"));
  assert_int_equal(static_cast<int>(liveness(leader)), static_cast<int>(Liveness::alive));
  here.launcher.kill(1);
  assert_exit(here.wait_for_exits(1)[0], 1, Kind::signaled, SIGKILL);
  assert_string_equal(here.printed(1).c_str(), "");
  expect_error(Code::state, [&] { here.launcher.go(1); });
}

// Stores have it so, and a program that is started knows its own session by it.
void identity_of_a_run_is_that_of_its_leader(void **) {
  Launching here;
  const std::string identity = here.launcher.prepare(here.script(1, "exec sleep 1000"));
  const int64_t pid = parse_json(identity, "identity").at("pid").get<int64_t>();
  assert_string_equal(identity.c_str(), to_wire(ProcessIdentity::of(pid).to_json()).c_str());
  here.launcher.kill(1);
  here.wait_for_exits(1);
}

void go_after_a_kill_says_nothing_and_the_exit_follows(void **) {
  Launching here;
  const ProcessIdentity leader = here.prepare(here.script(1, "echo ran"));
  here.launcher.kill(1);
  wait_until([&] { return is_gone(leader); });
  here.launcher.go(1);
  assert_exit(here.wait_for_exits(1)[0], 1, Kind::signaled, SIGKILL);
}

void leader_has_a_session_of_its_own_and_default_signals(void **) {
  Launching here;
  signal(SIGPIPE, SIG_IGN);
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigprocmask(SIG_BLOCK, &blocked, nullptr);
  here.prepare(here.launch(1, {"cat", "/proc/self/status"}));
  const ProcessIdentity leader = here.prepare(here.launch(2, {"sleep", "100"}));
  here.launcher.go(1);
  here.launcher.go(2);
  sigprocmask(SIG_UNBLOCK, &blocked, nullptr);
  signal(SIGPIPE, SIG_DFL);
  assert_int_equal(getsid(static_cast<pid_t>(leader.pid)), leader.pid);
  here.wait_for_exits(1);
  for (const char *line : {"SigBlk:\t0000000000000000\n", "SigIgn:\t0000000000000000\n"})
    assert_true(contains(here.printed(1), line));
  here.launcher.kill(2);
  here.wait_for_exits(1);
}

// As a terminal does it: the signal goes to the whole process group, also to a child that has no
// session yet.
void ctrl_c_of_the_supervisor_does_not_reach_a_child_that_begins(void **) {
  Launching here(20);
  const pid_t group = getpgrp();
  if (group != getpid()) assert_int_equal(setpgid(0, 0), 0);  // Meson starts tests as leaders
  void (*const before)(int) = signal(SIGINT, [](int) {});
  std::atomic<bool> enough = false;
  std::thread terminal([&] {
    while (!enough) kill(0, SIGINT);
  });
  for (int64_t trial = 1; trial <= 20; ++trial) here.prepare(here.script(trial, "exit 7"));
  enough = true;
  terminal.join();
  for (int64_t trial = 1; trial <= 20; ++trial) here.launcher.go(trial);
  for (const LaunchedExit &exit : here.wait_for_exits(20))
    assert_exit(exit, exit.trial_id, Kind::exited, 7);
  signal(SIGINT, before);
  if (group != getpid()) setpgid(0, group);
}

void only_standard_files_are_open(void **) {
  Launching here;
  const Fd other = open_file("/dev/null", O_RDONLY);
  const Fd inherited(dup(other.get()));
  here.prepare(here.script(2, "true"));
  here.start(here.script(1, "ls /proc/$$/fd; readlink /proc/$$/fd/0; echo to stderr >&2"));
  here.wait_for_exits(1);
  assert_string_equal(here.printed(1).c_str(), "0\n1\n2\n/dev/null\nto stderr\n");
}

void log_is_private_and_appended_to(void **) {
  Launching here;
  here.start(here.script(1, "echo one"));
  here.wait_for_exits(1);
  here.start(here.script(1, "echo two"));
  here.wait_for_exits(1);
  assert_string_equal(here.printed(1).c_str(), "one\ntwo\n");
  struct stat about {};
  assert_int_equal(stat(here.log(1).c_str(), &about), 0);
  assert_int_equal(about.st_mode & 0777, 0600);
}

void environment_is_ours_with_what_is_added(void **) {
  Launching here;
  setenv("SLURM_PROCID", "3", 1);
  setenv("KEPT", "kept", 1);
  setenv("DET_TRIAL_ID", "99", 1);
  setenv("DET_LATEST_CHECKPOINT", "of another trial", 1);
  TrialLaunch launch = here.script(
      7,
      "echo $KEPT $ADDED $DET_TRIAL_ID $DET_TRIAL_RUN_ID $DET_SLOT_IDS ${SLURM_PROCID-none} "
      "${DET_LATEST_CHECKPOINT-none}; pwd");
  launch.environment["ADDED"] = "added here";
  launch.run_id = 5;
  launch.slots = 0;
  here.start(launch);
  for (const char *name : {"SLURM_PROCID", "KEPT", "DET_TRIAL_ID", "DET_LATEST_CHECKPOINT"})
    unsetenv(name);
  assert_int_equal(here.wait_for_exits(1)[0].run_id, 5);
  assert_string_equal(
      here.printed(7).c_str(),
      ("kept added here 7 5 [] none none\n" + here.directory.path().string() + "\n").c_str());
}

void threads_are_as_many_as_the_slots_in_use_have_cores(void **) {
  Launching here(2);
  const int cores = usable_cores();
  TrialLaunch launch = here.script(1, "echo $OMP_NUM_THREADS $OMP_WAIT_POLICY");
  const auto threads = [&](int64_t slots_at_once) {
    launch.slots_at_once = slots_at_once;
    here.start(launch);
    here.wait_for_exits(1);
    std::string printed = here.printed(1);
    std::filesystem::remove(here.log(1));
    return printed;
  };
  const std::string all = std::to_string(cores) + " passive\n";
  const std::string half = std::to_string(std::max(cores / 2, 1)) + " passive\n";
  assert_string_equal(threads(1).c_str(), all.c_str());
  for (const int slots : {0, 2, 16}) assert_string_equal(threads(slots).c_str(), half.c_str());
  launch.environment["OMP_NUM_THREADS"] = "3";
  launch.environment["OMP_WAIT_POLICY"] = "active";
  assert_string_equal(threads(1).c_str(), "3 active\n");
}

// Starts a command that cannot be, and gives the error. Nothing of it is left.
std::string refused(Launching &here, const std::vector<std::string> &command, Code code) {
  here.prepare(here.launch(1, command));
  const std::string message = expect_error(code, [&] { here.launcher.go(1); });
  assert_true(here.launcher.has_room(4));
  assert_true(here.launcher.take_exits().empty());
  return message;
}

void command_that_cannot_start_says_what_to_do(void **) {
  Launching here;
  std::filesystem::create_directory(here.directory / "folder");
  write_file_durably(here.directory / "plain", "#!/bin/sh\n", 0644);
  write_file_durably(here.directory / "text", "no program\n", 0755);
  write_file_durably(here.directory / "orphan", "#!/no/such/interpreter\n", 0755);
  assert_true(contains(refused(here, {"no-such-command-"}, Code::not_found), "PATH"));
  assert_true(contains(refused(here, {"./missing"}, Code::not_found), "no such file"));
  assert_true(contains(refused(here, {"./plain"}, Code::access), "chmod +x"));
  assert_true(contains(refused(here, {"./folder"}, Code::access), "is a directory"));
  assert_true(contains(refused(here, {"./text"}, Code::invalid), "#!/bin/sh"));
  assert_true(contains(refused(here, {"./orphan"}, Code::not_found), "interpreter"));
  assert_true(contains(refused(here, {""}, Code::not_found), "no such command"));
  assert_true(contains(refused(here, {}, Code::invalid), "empty"));
  assert_true(contains(refused(here, {"echo", std::string(200'000, 'x')}, Code::invalid), "large"));
}

void directory_that_is_not_there_is_told(void **) {
  Launching here;
  TrialLaunch launch = here.launch(1, {"/bin/true"});
  launch.directory = here.directory / "missing";
  here.prepare(launch);
  assert_true(contains(expect_error(Code::not_found, [&] { here.launcher.go(1); }), "missing"));
}

void log_that_cannot_be_opened_keeps_no_slot(void **) {
  Launching here(1);
  TrialLaunch launch = here.script(1, "true");
  launch.log_file = here.directory / "missing" / "log";
  expect_error(Code::not_found, [&] { here.prepare(launch); });
  assert_true(here.launcher.has_room(1));
}

void what_stays_behind_in_the_session_is_ended_before_the_exit_is_told(void **) {
  Launching here;
  // One in the leader's process group, and one in a group of its own.
  here.start(here.script(1, "sleep 1000 & echo $! >a; set -m; sleep 1000 & echo $! >b; exit 4"));
  const ProcessIdentity same_group = process_in(here.directory / "a");
  const ProcessIdentity other_group = process_in(here.directory / "b");
  assert_exit(here.wait_for_exits(1)[0], 1, Kind::exited, 4);
  assert_true(is_gone(same_group));
  assert_true(is_gone(other_group));
}

void daemon_of_a_trial_does_not_hold_up_its_exit(void **) {
  Launching here;
  here.start(here.script(
      1, "setsid sh -c 'echo $$ >pid; exec sleep 1000' & while ! [ -s pid ]; do :; done"));
  assert_exit(here.wait_for_exits(1)[0], 1, Kind::exited, 0);
  const ProcessIdentity daemon = process_in(here.directory / "pid");
  // It left the session on purpose, and is left alone.
  assert_int_equal(static_cast<int>(liveness(daemon)), static_cast<int>(Liveness::alive));
  assert_true(daemon.pid > 1);
  ::kill(static_cast<pid_t>(daemon.pid), SIGKILL);
}

void kill_ends_what_ignores_other_signals(void **) {
  Launching here;
  here.start(here.script(1, "trap '' TERM INT HUP; sh -c 'echo $$ >pid; exec sleep 1000'; exit 1"));
  const ProcessIdentity inner = process_in(here.directory / "pid");
  here.launcher.kill(1);
  here.launcher.kill(1);
  here.launcher.kill(99);
  assert_exit(here.wait_for_exits(1)[0], 1, Kind::signaled, SIGKILL);
  assert_true(is_gone(inner));
}

void fifty_run_at_once(void **) {
  Launching here(50);
  for (int trial = 1; trial <= 50; ++trial)
    here.prepare(here.script(trial, "read x; exit $DET_TRIAL_ID"));
  assert_false(here.launcher.has_room(1));
  for (int trial = 1; trial <= 50; ++trial) here.launcher.go(trial);
  std::vector<LaunchedExit> exits = here.wait_for_exits(50);
  std::ranges::sort(exits, {}, &LaunchedExit::trial_id);
  for (int trial = 1; trial <= 50; ++trial)
    assert_exit(exits[static_cast<size_t>(trial - 1)], trial, Kind::exited, trial);
  assert_true(here.launcher.has_room(50));
}

void no_more_start_than_there_are_slots(void **) {
  Launching here(3);
  here.prepare(here.script(1, "echo $DET_SLOT_IDS"));
  here.prepare(here.script(2, "true", 2));
  assert_false(here.launcher.has_room(1));
  assert_true(here.launcher.has_room(0));
  expect_error(Code::busy, [&] { here.prepare(here.script(3, "true")); });
  expect_error(Code::state, [&] { here.prepare(here.script(1, "true")); });
  here.launcher.go(1);
  here.wait_for_exits(1);
  assert_string_equal(here.printed(1).c_str(), "[0]\n");
  assert_true(here.launcher.has_room(1));
  assert_false(here.launcher.has_room(2));
}

}  // namespace

int test_local_launcher() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(exit_code_and_signal_are_told),
      cmocka_unit_test(exit_is_told_once),
      cmocka_unit_test(nothing_runs_before_go),
      cmocka_unit_test(identity_of_a_run_is_that_of_its_leader),
      cmocka_unit_test(go_after_a_kill_says_nothing_and_the_exit_follows),
      cmocka_unit_test(leader_has_a_session_of_its_own_and_default_signals),
      cmocka_unit_test(ctrl_c_of_the_supervisor_does_not_reach_a_child_that_begins),
      cmocka_unit_test(only_standard_files_are_open),
      cmocka_unit_test(log_is_private_and_appended_to),
      cmocka_unit_test(environment_is_ours_with_what_is_added),
      cmocka_unit_test(threads_are_as_many_as_the_slots_in_use_have_cores),
      cmocka_unit_test(command_that_cannot_start_says_what_to_do),
      cmocka_unit_test(directory_that_is_not_there_is_told),
      cmocka_unit_test(log_that_cannot_be_opened_keeps_no_slot),
      cmocka_unit_test(what_stays_behind_in_the_session_is_ended_before_the_exit_is_told),
      cmocka_unit_test(daemon_of_a_trial_does_not_hold_up_its_exit),
      cmocka_unit_test(kill_ends_what_ignores_other_signals),
      cmocka_unit_test(fifty_run_at_once),
      cmocka_unit_test(no_more_start_than_there_are_slots),
  };
  return cmocka_run_group_tests_name("local_launcher", tests, nullptr, nullptr);
}
