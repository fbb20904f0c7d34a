// What the samplers find on recorded machines.
#include "core/base/error.h"
#include "tests/assert_equal.h"
#include "tests/expect_error.h"
#include "tests/profiler/machine_copy.h"

namespace {

using namespace det;
using namespace det::profiler;

void cpu_counts_all_but_idle_and_waiting(void **) {
  const MachineCopy copy("bare_metal");
  const auto cpu = make_cpu_sampler(copy.machine());
  assert_equal(cpu->group(), "cpu");
  assert_equal(sample(*cpu, 0).size(), 0);
  // Of 200 ticks 60 idle and 20 waiting; a guest's are in those of its host already.
  copy.change("proc/stat", "cpu  1000 200 300 8000 400 50 50 0 100 0",
              "cpu  1050 210 330 8060 420 55 55 20 150 0");
  assert_equal(sample(*cpu, 1)["cpu_util_simple"], 60.0);
  // Waiting steps back, by design.
  copy.change("proc/stat", "8060 420", "8093 400");
  copy.change("proc/stat", "cpu  1050", "cpu  1051");
  assert_equal(sample(*cpu, 2)["cpu_util_simple"], 2.9);
  assert_equal(sample(*cpu, 3).size(), 0);  // nothing moved
}

void cpu_below_a_limit_is_of_that(void **) {
  const MachineCopy two("container_v2");
  auto cpu = make_cpu_sampler(two.machine());
  assert_equal(sample(*cpu, 0).size(), 0);
  two.change("sys/fs/cgroup/cpu.stat", "1000000", "1750000");
  assert_equal(sample(*cpu, 1)["cpu_util_simple"], 50.0);
  // A burst is not more than all.
  two.change("sys/fs/cgroup/cpu.stat", "1750000", "9750000");
  assert_equal(sample(*cpu, 2)["cpu_util_simple"], 100.0);

  const MachineCopy one("container_v1");
  cpu = make_cpu_sampler(one.machine());
  sample(*cpu, 0);
  one.change("sys/fs/cgroup/cpuacct/cpuacct.usage", "5000000000", "5250000000");
  assert_equal(sample(*cpu, 1)["cpu_util_simple"], 25.0);
}

void a_set_of_cpus_is_a_limit_too(void **) {
  const MachineCopy copy("container_v2");
  copy.write("sys/fs/cgroup/cpu.max", "max 100000\n");
  const auto cpu = make_cpu_sampler(copy.machine());
  sample(*cpu, 0);
  copy.change("sys/fs/cgroup/cpu.stat", "1000000", "2500000");
  assert_equal(sample(*cpu, 1)["cpu_util_simple"], 50.0);  // 1.5 of 3
}

void memory_is_what_can_be_had(void **) {
  const MachineCopy bare("bare_metal"), two("container_v2"), one("container_v1"), old("old_kernel");
  assert_equal(sample(*make_memory_sampler(bare.machine()), 0)["memory_free"], 8000000.0 * 1024);
  assert_equal(sample(*make_memory_sampler(two.machine()), 0)["memory_free"], 573741824.0);
  assert_equal(sample(*make_memory_sampler(one.machine()), 0)["memory_free"], 800000000.0);
  assert_equal(sample(*make_memory_sampler(old.machine()), 0)["memory_free"], 150.0 * 1024);
  two.change("sys/fs/cgroup/memory.current", "600000000", "1999999999");
  assert_equal(sample(*make_memory_sampler(two.machine()), 0)["memory_free"], 0.0);
}

void disks_are_whole_ones(void **) {
  const MachineCopy copy("bare_metal");
  const auto disk = make_disk_sampler(copy.machine());
  assert_false(sample(*disk, 0).has("disk_iops"));
  // Lines of 14, 18 and 20 fields; what a partition did, its disk has counted.
  copy.change("proc/diskstats", "sda 100 1 2000 3 200 4 4000", "sda 110 1 2002 3 220 4 4004");
  copy.change("proc/diskstats", "sda1 90 1 1900", "sda1 100 1 1902");
  copy.change("proc/diskstats", "nvme0n1 10 0 80", "nvme0n1 15 0 81");
  copy.change("proc/diskstats", "c0d0 7 0 56 0 9 0 72", "c0d0 7 0 56 0 10 0 80");
  const OneSample two_seconds = sample(*disk, 2);
  assert_equal(two_seconds["disk_iops"], (30 + 5 + 1) / 2.0);
  assert_equal(two_seconds["disk_throughput_read"], 3 * 512 / 2.0);
  assert_equal(two_seconds["disk_throughput_write"], 12 * 512 / 2.0);
  // Plugged in with much behind it; and the counter of another began anew.
  copy.change("proc/diskstats", "   8       0 sda 110",
              "   8      16 nvme0n1x 9999 0 9999 0 9999 0 9999 0 0 0 0\n   8       0 sda 0");
  copy.write("sys/block/nvme0n1x/size", "1");
  assert_equal(sample(*disk, 3)["disk_iops"], 0.0);
  copy.write("proc/diskstats", "");
  assert_equal(sample(*disk, 4)["disk_iops"], 0.0);
}

void old_kernels_say_less(void **) {
  const MachineCopy copy("old_kernel");
  const auto disk = make_disk_sampler(copy.machine()), cpu = make_cpu_sampler(copy.machine());
  sample(*disk, 0);
  sample(*cpu, 0);
  copy.change("proc/diskstats", "10 20 40 60", "11 22 43 64");
  copy.change("proc/stat", "cpu  100 0 50 800", "cpu  101 0 51 802");
  const OneSample second = sample(*disk, 1);
  assert_equal(second["disk_iops"], 4.0);
  assert_equal(second["disk_throughput_read"], 1024.0);
  assert_equal(second["disk_throughput_write"], 2048.0);
  assert_equal(sample(*cpu, 1)["cpu_util_simple"], 50.0);
  assert_null(make_pressure_sampler(copy.machine()).get());
}

void interfaces_come_go_and_wrap(void **) {
  const MachineCopy copy("bare_metal");
  const auto network = make_network_sampler(copy.machine());
  assert_equal(sample(*network, 0).size(), 0);
  copy.change("proc/net/dev", "eth0: 5000", "eth0:5100");
  copy.change("proc/net/dev", "7000 70", "7300 70");
  copy.change("proc/net/dev", "lo: 1000", "lo: 1001");
  const OneSample second = sample(*network, 1);
  assert_equal(second["net_throughput_recv"], 101.0);
  assert_equal(second["net_throughput_sent"], 300.0);
  // One wraps, one comes, and the others still count.
  copy.change("proc/net/dev", "eth0:5100",
              " tun0: 77777 0 0 0 0 0 0 0 99999 0 0 0 0 0 0 0\neth0: 3");
  copy.change("proc/net/dev", "lo: 1001", "lo: 1011");
  const OneSample third = sample(*network, 2);
  assert_equal(third["net_throughput_recv"], 10.0);
  assert_equal(third["net_throughput_sent"], 0.0);
  copy.change("proc/net/dev", "eth0: 3 ", "eth0: 33 ");
  assert_equal(sample(*network, 3)["net_throughput_recv"], 30.0);
}

void a_sample_at_the_same_instant_has_no_rates(void **) {
  const MachineCopy copy("bare_metal");
  const auto network = make_network_sampler(copy.machine());
  sample(*network, 1);
  assert_equal(sample(*network, 1).size(), 0);
}

void pressure_is_a_share_of_the_time(void **) {
  const MachineCopy copy("bare_metal");
  auto pressure = make_pressure_sampler(copy.machine());
  assert_equal(sample(*pressure, 0).size(), 0);
  copy.change("proc/pressure/cpu", "total=1000", "total=501000");
  copy.change("proc/pressure/io", "total=500\n", "total=100500\n");
  const OneSample second = sample(*pressure, 1);
  assert_equal(second["cpu/some"], 50.0);
  assert_equal(second["io/full"], 10.0);
  assert_equal(second["memory/some"], 0.0);

  // Of the container, where it has its own.
  const MachineCopy container("container_v2");
  pressure = make_pressure_sampler(container.machine());
  sample(*pressure, 0);
  container.change("sys/fs/cgroup/memory.pressure", "total=50\n", "total=250050\n");
  assert_equal(sample(*pressure, 1)["memory/full"], 25.0);
}

void what_is_not_there_is_unsupported(void **) {
  const MachineCopy copy("bare_metal");
  for (const char *file : {"stat", "meminfo", "diskstats", "net"})
    copy.remove(std::string("proc/") + file);
  for (const auto &sampler : make_machine_samplers(copy.machine())) {
    if (sampler->group() == "pressure") continue;
    const std::string message = expect_error(Code::unsupported, [&] { sample(*sampler, 0); });
    assert_true(contains(message, "/proc/"));
  }
}

void nonsense_is_no_value(void **) {
  const MachineCopy copy("bare_metal");
  for (const char *file : {"proc/stat", "proc/diskstats", "proc/net/dev", "proc/pressure/cpu"})
    copy.write(file, "cpu  x y\n: : :\n\nsome total=\n8 0 sda -1 9999999999999999999999\n \n");
  for (const auto &sampler : make_machine_samplers(copy.machine())) {
    if (sampler->group() == "memory") continue;
    sample(*sampler, 0);
    const OneSample second = sample(*sampler, 1);
    for (const char *name : {"cpu_util_simple", "cpu/some"}) assert_false(second.has(name));
  }
  copy.write("proc/meminfo", "MemTotal: many kB\n");
  expect_error(Code::unsupported, [&] { sample(*make_memory_sampler(copy.machine()), 0); });
}

}  // namespace

int test_machine() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(cpu_counts_all_but_idle_and_waiting),
      cmocka_unit_test(cpu_below_a_limit_is_of_that),
      cmocka_unit_test(a_set_of_cpus_is_a_limit_too),
      cmocka_unit_test(memory_is_what_can_be_had),
      cmocka_unit_test(disks_are_whole_ones),
      cmocka_unit_test(old_kernels_say_less),
      cmocka_unit_test(interfaces_come_go_and_wrap),
      cmocka_unit_test(a_sample_at_the_same_instant_has_no_rates),
      cmocka_unit_test(pressure_is_a_share_of_the_time),
      cmocka_unit_test(what_is_not_there_is_unsupported),
      cmocka_unit_test(nonsense_is_no_value),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
