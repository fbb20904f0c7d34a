// The processes of a trial, on a recorded machine and on this one.
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/profiler/process_tree.h"
#include "tests/assert_equal.h"
#include "tests/expect_error.h"
#include "tests/profiler/machine_copy.h"

namespace {

using namespace det;
using namespace det::profiler;

void a_name_may_look_like_anything(void **) {
  const auto stat =
      ProcessStat::from("7 (a) R 1 (b) S 3 1 1 0 -1 0 0 0 0 0 10 20 30 40 20 0 5 0 99 1000 77 1\n");
  assert_true(stat.has_value());
  assert_equal(stat->command, "a) R 1 (b");
  assert_int_equal(stat->parent, 3);
  assert_equal(stat->ticks, 30);
  assert_equal(stat->all_ticks, 100);
  assert_equal(stat->threads, 5);
  assert_equal(stat->resident_pages, 77);
  for (const char *broken : {"", "7", "7 (x", "7 x) (", "7 (x) R 1 2"})
    assert_false(ProcessStat::from(broken).has_value());
}

void descendants_count_and_strangers_do_not(void **) {
  const MachineCopy copy("bare_metal");
  const auto sampler = make_process_sampler(copy.machine(100));
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  const OneSample first = sample(*sampler, 0);
  assert_equal(first["processes"], 3.0);
  assert_equal(first["threads"], 6.0);
  assert_equal(first["memory_rss"], 1510 * page);
  assert_equal(first["100 mpirun/memory_rss"], 10 * page);
  assert_false(first.has("cpu_util"));
  assert_false(first.has("99 worker/memory_rss"));  // it may be a short-lived helper

  copy.change("proc/101/stat", " 100 20 0 0 ", " 150 30 0 0 ");
  copy.change("proc/99/stat", " 30 0 5 0 ", " 40 0 5 0 ");
  copy.change("proc/300/stat", " 9999 ", " 99999 ");
  copy.change("proc/101/io", "write_bytes: 8192", "write_bytes: 9192");
  const OneSample later = sample(*sampler, 10);
  assert_equal(later["cpu_util"], 7 / ticks * 100);
  assert_equal(later["io_write"], 100.0);
  assert_equal(later["io_read"], 0.0);
  assert_true(later.has("99 worker/memory_rss"));
  assert_equal(sample(*sampler, 20)["101 python3 (train) x/cpu_util"], 0.0);
}

void new_ones_are_looked_for_where_there_may_be_some(void **) {
  const MachineCopy copy("bare_metal");
  copy.write("proc/loadavg", "0.20 0.18 0.12 1/80 300\n");
  const auto sampler = make_process_sampler(copy.machine(100));
  sample(*sampler, 0);
  std::filesystem::copy(copy.path("proc/99"), copy.path("proc/98"));
  assert_equal(sample(*sampler, 10)["processes"], 3.0);
  copy.write("proc/loadavg", "0.20 0.18 0.12 1/80 301\n");
  assert_equal(sample(*sampler, 11)["processes"], 3.0);  // not at once again
  assert_equal(sample(*sampler, 20)["processes"], 4.0);
}

void one_that_ends_leaves_its_time_to_its_parent(void **) {
  const MachineCopy copy("bare_metal");
  const auto sampler = make_process_sampler(copy.machine(100));
  sample(*sampler, 0);
  sample(*sampler, 10);
  copy.write("proc/99/stat", "");  // reading that of a process that is gone gives no more
  copy.remove("proc/99");
  copy.change("proc/101/stat", " 100 20 0 0 ", " 100 20 40 5 ");  // 10 more than the 35 it had
  const OneSample later = sample(*sampler, 20);
  assert_equal(later["processes"], 2.0);
  assert_equal(later["cpu_util"], 1 / static_cast<double>(sysconf(_SC_CLK_TCK)) * 100);
  assert_false(later.has("99 worker/memory_rss"));
}

void a_machine_that_shows_no_processes_is_unsupported(void **) {
  const MachineCopy copy("old_kernel");
  const auto sampler = make_process_sampler(copy.machine(1));
  expect_error(Code::unsupported, [&] { sample(*sampler, 0); });
}

void ourselves_and_a_child_are_found(void **) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte = 0;
    close(ends[1]);
    _exit(read(ends[0], &byte, 1) < 0 ? 1 : 0);
  }
  const auto sampler = make_process_sampler({.root = "/", .process = getpid()});
  const OneSample values = sample(*sampler, 0);
  assert_equal(values["processes"], 2.0);
  assert_true(values["memory_rss"] > 0);
  close(ends[0]);
  close(ends[1]);
  assert_int_equal(waitpid(child, nullptr, 0), child);
  assert_equal(sample(*sampler, 0.1)["processes"], 1.0);
}

}  // namespace

int test_process() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_name_may_look_like_anything),
      cmocka_unit_test(descendants_count_and_strangers_do_not),
      cmocka_unit_test(new_ones_are_looked_for_where_there_may_be_some),
      cmocka_unit_test(one_that_ends_leaves_its_time_to_its_parent),
      cmocka_unit_test(a_machine_that_shows_no_processes_is_unsupported),
      cmocka_unit_test(ourselves_and_a_child_are_found),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
