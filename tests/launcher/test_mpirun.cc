// Trials of several ranks, with the mpirun of this machine.
#include <signal.h>

#include <algorithm>

#include "core/launcher/local/process_environment.h"
#include "tests/expect_error.h"
#include "tests/launcher/launching.h"

namespace {

using namespace det;
using namespace det::launcher;
using namespace det::test;
using Kind = LaunchedExit::Kind;

bool has_mpirun() {
  Variables variables = inherited_variables();
  try {
    through_mpirun({"true"}, 2, variables);
    return true;
  } catch (const Error &) {
    return false;
  }
}

// A rank by whichever MPI is there.
const std::string rank = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}";

// Open MPI leaves its own files behind when it is killed.
TrialLaunch ranks(const Launching &here, const std::string &text, int count) {
  TrialLaunch launch = here.script(1, text, count);
  launch.environment["TMPDIR"] = here.directory.path().string();
  return launch;
}

void each_rank_runs_the_command_with_the_variables(void **) {
  if (!has_mpirun()) skip();
  Launching here(2);
  TrialLaunch launch = ranks(here, "echo \"rank " + rank + " has $ADDED $DET_SLOT_IDS\"", 2);
  launch.environment["ADDED"] = "added here";
  here.start(launch);
  assert_exit(here.wait_for_exits(1)[0], 1, Kind::exited, 0);
  for (const char *line : {"rank 0 has added here [0,1]\n", "rank 1 has added here [0,1]\n"})
    assert_true(contains(here.printed(1), line));
}

// As a virtual environment puts its own before those of the system.
void programs_are_those_of_the_path(void **) {
  if (!has_mpirun()) skip();
  Launching here(2);
  const std::string path = here.directory.path().string() + ":" + getenv("PATH");
  TrialLaunch launch = ranks(here, "echo \"$PATH\"", 2);
  launch.environment["PATH"] = path;
  here.start(launch);
  assert_exit(here.wait_for_exits(1)[0], 1, Kind::exited, 0);
  assert_string_equal(here.printed(1).c_str(), (path + "\n" + path + "\n").c_str());
}

void more_ranks_than_cores_can_run(void **) {
  if (!has_mpirun()) skip();
  const int count = static_cast<int>(std::thread::hardware_concurrency()) + 2;
  Launching here(count);
  here.start(ranks(here, "echo here", count));
  assert_exit(here.wait_for_exits(1)[0], 1, Kind::exited, 0);
  const std::string printed = here.printed(1);
  assert_int_equal(std::ranges::count(printed, '\n'), count);
}

void crash_of_one_rank_ends_all(void **) {
  if (!has_mpirun()) skip();
  Launching here(2);
  here.start(ranks(here,
                   "echo $$ >pid" + rank + "; if [ " + rank +
                       " = 0 ]; then exec sleep 1000; fi; "
                       "while ! [ -e crash ]; do sleep 0.01; done; exit 3",
                   2));
  const ProcessIdentity other = process_in(here.directory / "pid0");
  write_file_durably(here.directory / "crash", "");
  assert_exit(here.wait_for_exits(1)[0], 1, Kind::exited, 3);
  assert_true(is_gone(other));
}

void kill_ends_all_ranks(void **) {
  if (!has_mpirun()) skip();
  Launching here(2);
  here.start(ranks(here, "trap '' TERM; echo $$ >pid" + rank + "; exec sleep 1000", 2));
  const ProcessIdentity first = process_in(here.directory / "pid0");
  const ProcessIdentity second = process_in(here.directory / "pid1");
  here.launcher.kill(1);
  assert_exit(here.wait_for_exits(1)[0], 1, Kind::signaled, SIGKILL);
  assert_true(is_gone(first));
  assert_true(is_gone(second));
}

void command_that_is_not_there_is_told_before_mpirun_starts(void **) {
  if (!has_mpirun()) skip();
  Launching here(2);
  here.prepare(here.launch(1, {"no-such-command-"}, 2));
  assert_true(contains(expect_error(Code::not_found, [&] { here.launcher.go(1); }), "PATH"));
  assert_true(here.launcher.has_room(2));
}

void machine_without_mpirun_says_what_to_install(void **) {
  Launching here(2);
  TrialLaunch launch = here.launch(1, {"/bin/true"}, 2);
  launch.environment["PATH"] = here.directory.path().string();
  here.prepare(launch);
  assert_true(contains(expect_error(Code::not_found, [&] { here.launcher.go(1); }), "openmpi-bin"));
}

}  // namespace

int test_mpirun() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(each_rank_runs_the_command_with_the_variables),
      cmocka_unit_test(programs_are_those_of_the_path),
      cmocka_unit_test(more_ranks_than_cores_can_run),
      cmocka_unit_test(crash_of_one_rank_ends_all),
      cmocka_unit_test(kill_ends_all_ranks),
      cmocka_unit_test(command_that_is_not_there_is_told_before_mpirun_starts),
      cmocka_unit_test(machine_without_mpirun_says_what_to_install),
  };
  return cmocka_run_group_tests_name("mpirun", tests, nullptr, nullptr);
}
