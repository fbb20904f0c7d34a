// GPUs that several supervisors of one machine share: each is one trial's, whoever started it.
#include <fcntl.h>
#include <sys/stat.h>

#include "core/launcher/local/gpu_claim.h"
#include "tests/expect_error.h"
#include "tests/launcher/launching.h"

namespace {

using namespace det;
using namespace det::launcher;
using namespace det::test;

Slots gpus(const TemporaryDirectory &machine) { return {{"0", "1"}, machine.path()}; }

void others_get_what_is_left(void **) {
  const TemporaryDirectory machine;
  Slots mine = gpus(machine), theirs = gpus(machine);
  const std::vector<int> first = mine.take(1);
  assert_equal(first, std::vector{0});
  assert_equal(theirs.take(1), std::vector{1});
  const std::string why = expect_error(Code::busy, [&] { theirs.take(1); });
  assert_true(contains(why, "another `det run`"));
  mine.give_back(first);
  assert_equal(theirs.take(1), std::vector{0});
}

void too_few_of_them_are_left_to_others(void **) {
  const TemporaryDirectory machine;
  Slots mine = gpus(machine), theirs = gpus(machine), third = gpus(machine);
  mine.take(1);
  expect_error(Code::busy, [&] { theirs.take(2); });
  assert_equal(third.take(1), std::vector{1});
}

void fewer_slots_than_gpus_may_be_any_of_them(void **) {
  const TemporaryDirectory machine;
  for (const char *gpu : {"0000:01:00.0", "0000:02:00.0"}) {
    const auto about = machine / "proc/driver/nvidia/gpus" / gpu;
    std::filesystem::create_directories(about);
  }
  std::filesystem::create_directory(machine / "tmp");
  Slots mine = Slots::of_machine(1, machine.path()), theirs = Slots::of_machine(1, machine.path());
  assert_equal(mine.take(1), std::vector{0});
  assert_equal(theirs.take(1), std::vector{1});
  assert_int_equal(theirs.total(), 1);
  expect_error(Code::busy, [&] { theirs.take(1); });
}

void trial_keeps_its_gpu_when_its_supervisor_is_gone(void **) {
  const TemporaryDirectory machine;
  Slots others = gpus(machine);
  ProcessIdentity trial;
  std::filesystem::path told;
  Launching next(gpus(machine));
  {
    Launching first(gpus(machine));
    trial = first.start(next.script(1, "echo $DET_SLOT_IDS >told; exec sleep 1000"));
    // One that is started later does not keep the GPU of the first.
    first.start(next.script(2, "exec sleep 1000"));
    first.launcher.kill(2);
    assert_int_equal(first.wait_for_exits(1).size(), 1);
    wait_until([&] { return file_has(next.directory / "told", "[0]"); });
  }
  assert_equal(others.take(1), std::vector{1});
  expect_error(Code::busy, [&] { others.take(1); });
  next.adopt(next.script(1, ""), trial);
  next.launcher.kill(1);
  next.wait_for_exits(1);
  assert_equal(others.take(1), std::vector{0});
}

void second_trial_frees_its_gpu_while_the_first_runs(void **) {
  const TemporaryDirectory machine;
  Slots others = gpus(machine);
  Launching here(gpus(machine));
  here.start(here.script(1, "exec sleep 1000"));
  here.start(here.script(2, "exec sleep 1000"));
  here.start(here.script(3, "exec sleep 1000", 0));
  here.launcher.kill(1);
  here.wait_for_exits(1);
  assert_equal(others.take(1), std::vector{0});
  here.launcher.kill(2);
  here.launcher.kill(3);
  here.wait_for_exits(2);
}

void lock_of_another_user_is_enough_to_read(void **) {
  const TemporaryDirectory machine;
  const mode_t before = umask(0777);
  const Fd claim = claim_gpu("GPU-1/2", machine.path());
  umask(before);
  struct stat about {};
  assert_int_equal(stat((machine / "detcore-gpu-GPU-1_2.lock").c_str(), &about), 0);
  assert_int_equal(about.st_mode & 0777, 0644);
  assert_true(static_cast<bool>(claim));
  assert_false(static_cast<bool>(claim_gpu("GPU-1/2", machine.path())));
}

void place_that_cannot_be_used_is_named(void **) {
  const std::string why = expect_error(Code::not_found, [] { claim_gpu("0", "/no/such"); });
  assert_true(contains(why, "GPU 0") && contains(why, "/no/such"));
  const TemporaryDirectory machine;
  std::filesystem::create_symlink("/dev/null", machine / "detcore-gpu-0.lock");
  expect_error(Code::io, [&] { claim_gpu("0", machine.path()); });
}

}  // namespace

int test_gpu_claims() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(others_get_what_is_left),
      cmocka_unit_test(too_few_of_them_are_left_to_others),
      cmocka_unit_test(fewer_slots_than_gpus_may_be_any_of_them),
      cmocka_unit_test(trial_keeps_its_gpu_when_its_supervisor_is_gone),
      cmocka_unit_test(second_trial_frees_its_gpu_while_the_first_runs),
      cmocka_unit_test(lock_of_another_user_is_enough_to_read),
      cmocka_unit_test(place_that_cannot_be_used_is_named),
  };
  return cmocka_run_group_tests_name("gpu_claims", tests, nullptr, nullptr);
}
