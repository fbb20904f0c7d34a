// Which slots a machine has, and which of them a trial is given. The machines are directories.
#include <fcntl.h>
#include <sched.h>

#include <algorithm>

#include "core/base/file.h"
#include "core/launcher/local/machine.h"
#include "core/launcher/local/slots.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;
using namespace det::launcher;

// A machine as its /proc, /dev and /sys show it.
class Machine {
 public:
  void put(const std::string &path, const std::string &text) const {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    write_all(open_file(file, O_WRONLY | O_CREAT | O_TRUNC).get(), text, file.string());
  }
  void put_gpu(int number, bool with_device = true) const {
    const std::string minor = std::to_string(number);
    put("proc/driver/nvidia/gpus/0000:0" + minor + ":00.0/information",
        "Model: \t\t A100\nIRQ:   \t\t 10\nDevice Minor: \t " + minor + "\n");
    if (with_device) put("dev/nvidia" + minor, "");
  }
  const std::filesystem::path &root() const { return root_.path(); }

 private:
  TemporaryDirectory root_;
};

class VisibleDevices {
 public:
  explicit VisibleDevices(const char *value) { setenv("CUDA_VISIBLE_DEVICES", value, 1); }
  ~VisibleDevices() { unsetenv("CUDA_VISIBLE_DEVICES"); }
};

std::string visible(const Slots &slots, const std::vector<int> &ids) {
  return slots.variables(ids).at("CUDA_VISIBLE_DEVICES");
}

void gpus_come_before_cores(void **) {
  const Machine machine;
  machine.put_gpu(0);
  machine.put_gpu(1);
  Slots slots = Slots::of_machine(std::nullopt, machine.root());
  assert_true(slots.are_gpus());
  assert_int_equal(slots.total(), 2);
}

void gpus_of_other_containers_do_not_count(void **) {
  const Machine machine;
  machine.put_gpu(0);
  machine.put_gpu(1, false);
  assert_int_equal(visible_gpus(machine.root()).size(), 1);
}

void each_gpu_goes_to_one_trial(void **) {
  const Machine machine;
  for (int i = 0; i < 3; ++i) machine.put_gpu(i);
  machine.put("tmp/some file", "");
  Slots slots = Slots::of_machine(std::nullopt, machine.root());
  const std::vector<int> first = slots.take(1);
  const std::vector<int> second = slots.take(2);
  assert_string_equal(visible(slots, first).c_str(), "0");
  assert_string_equal(visible(slots, second).c_str(), "1,2");
  assert_string_equal(slots.variables(second).at("DET_SLOT_IDS").c_str(), "[1,2]");
  expect_error(Code::busy, [&] { slots.take(1); });
  slots.give_back(first);
  assert_string_equal(visible(slots, slots.take(1)).c_str(), "0");
}

void trial_without_slots_sees_no_gpu(void **) {
  Slots slots({"0"}, "no such directory");
  assert_string_equal(visible(slots, slots.take(0)).c_str(), "");
  assert_string_equal(slots.variables({}).at("DET_SLOT_IDS").c_str(), "[]");
}

void visible_devices_are_honoured(void **) {
  const Machine machine;
  for (int i = 0; i < 4; ++i) machine.put_gpu(i);
  const struct {
    const char *variable;
    std::vector<std::string> gpus;
  } cases[] = {
      {"2,3", {"2", "3"}}, {"3, 1", {"3", "1"}},
      {"0,-1,1", {"0"}},   {"1,9,2", {"1"}},
      {"1,1", {"1"}},      {"GPU-5f2a,MIG-77", {"GPU-5f2a", "MIG-77"}},
      {"NoDevFiles", {}},  {"", {}},
  };
  for (const auto &[variable, gpus] : cases) {
    const VisibleDevices set(variable);
    assert_equal(visible_gpus(machine.root()), gpus);
  }
}

void visible_devices_without_a_gpu_are_none(void **) {
  const Machine machine;
  const VisibleDevices set("0,GPU-1");
  assert_true(visible_gpus(machine.root()).empty());
}

void number_wanted_limits_gpus_and_sets_cores(void **) {
  const Machine with_gpus, without;
  with_gpus.put_gpu(0);
  with_gpus.put_gpu(1);
  assert_int_equal(Slots::of_machine(1, with_gpus.root()).total(), 1);
  assert_true(contains(expect_error(Code::invalid, [&] { Slots::of_machine(3, with_gpus.root()); }),
                       "2 GPUs"));
  assert_int_equal(Slots::of_machine(64, without.root()).total(), 64);
  assert_int_equal(Slots(64).variables({0}).count("CUDA_VISIBLE_DEVICES"), 0);
  expect_error(Code::invalid, [&] { Slots::of_machine(0, without.root()); });
}

int cores_by_affinity() {
  cpu_set_t set;
  assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
  return CPU_COUNT(&set);
}

void cores_are_those_this_process_may_use(void **) {
  const Machine machine;
  assert_int_equal(usable_cores(machine.root()), cores_by_affinity());
  assert_int_equal(Slots::of_machine(std::nullopt, machine.root()).total(), cores_by_affinity());
}

void limits_of_the_control_group_and_those_above_it_count(void **) {
  const Machine machine;
  machine.put("proc/self/cgroup", "1:cpu:/other\n0::/outer/inner\n");
  machine.put("sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  assert_int_equal(usable_cores(machine.root()), cores_by_affinity());
  machine.put("sys/fs/cgroup/outer/cpu.max", "50000 100000\n");
  assert_int_equal(usable_cores(machine.root()), 1);
  machine.put("sys/fs/cgroup/outer/cpu.max", "100001 100000\n");
  assert_int_equal(usable_cores(machine.root()), std::min(2, cores_by_affinity()));
  machine.put("sys/fs/cgroup/outer/cpu.max", "nonsense\n");
  assert_int_equal(usable_cores(machine.root()), cores_by_affinity());
}

void slots_held_by_others_count_even_if_too_many(void **) {
  Slots slots(2);
  slots.take_held({1, 2, 3});
  assert_int_equal(slots.free(), -1);
  expect_error(Code::busy, [&] { slots.take(1); });
  slots.give_back({2, 3});
  assert_equal(slots.take(1), std::vector<int>{0});
}

}  // namespace

int test_slots() {
  unsetenv("CUDA_VISIBLE_DEVICES");
  const CMUnitTest tests[] = {
      cmocka_unit_test(gpus_come_before_cores),
      cmocka_unit_test(gpus_of_other_containers_do_not_count),
      cmocka_unit_test(each_gpu_goes_to_one_trial),
      cmocka_unit_test(trial_without_slots_sees_no_gpu),
      cmocka_unit_test(visible_devices_are_honoured),
      cmocka_unit_test(visible_devices_without_a_gpu_are_none),
      cmocka_unit_test(number_wanted_limits_gpus_and_sets_cores),
      cmocka_unit_test(cores_are_those_this_process_may_use),
      cmocka_unit_test(limits_of_the_control_group_and_those_above_it_count),
      cmocka_unit_test(slots_held_by_others_count_even_if_too_many),
  };
  return cmocka_run_group_tests_name("slots", tests, nullptr, nullptr);
}
