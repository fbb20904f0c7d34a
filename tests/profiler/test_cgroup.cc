// Memory and disk rate of a process in a control group of its own, against what the kernel says of
// that group.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>

#include "core/base/file.h"
#include "tests/profiler/control_group.h"
#include "tests/profiler/machine_copy.h"

namespace {

using namespace det;
using namespace det::profiler;

constexpr double mib = 1 << 20;
constexpr size_t limit = 256 << 20, held = 64 << 20, written = 16 << 20;

// Before it holds and writes something, and after; the rates are of one second.
struct Sampled {
  double free[2], resident[2], write_rate, disk_write_rate;
};

void hold() {
  // All of it is there, without an access that a sanitizer would keep books about.
  const void *memory = mmap(nullptr, held, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) _exit(2);
}

void write_through(const std::filesystem::path &path) {
  const Fd file = open_file(path, O_WRONLY | O_CREAT);
  const std::string part(64 << 10, 'x');  // memory that counts as well
  for (size_t size = 0; size < written; size += part.size()) write_all(file.get(), part, path);
  if (fsync(file.get()) != 0) _exit(3);
}

// In the group; ends with the pipe that it listens to.
[[noreturn]] void be_sampled(const ControlGroup &group, const std::filesystem::path &path,
                             const int told, const int heard) try {
  if (!group.join()) _exit(4);
  const auto memory = make_memory_sampler({}), disk = make_disk_sampler({}),
             process = make_process_sampler({.root = "/", .process = getpid()});
  Sampled sampled{};
  OneSample of_process, of_disk;
  for (const int second : {0, 1}) {
    if (second == 1) write_through(path);
    if (second == 1) hold();
    of_process = sample(*process, second);
    of_disk = sample(*disk, second);
    const OneSample of_memory = sample(*memory, second);
    if (!of_memory.has("memory_free") || !of_process.has("memory_rss")) _exit(5);
    sampled.free[second] = of_memory["memory_free"];
    sampled.resident[second] = of_process["memory_rss"];
  }
  if (!of_process.has("io_write") || !of_disk.has("disk_throughput_write")) _exit(6);
  sampled.write_rate = of_process["io_write"];
  sampled.disk_write_rate = of_disk["disk_throughput_write"];
  char end = 0;
  if (write(told, &sampled, sizeof sampled) != sizeof sampled || read(heard, &end, 1) != 0)
    _exit(7);
  _exit(0);
} catch (const std::exception &) {
  _exit(8);
}

void assert_near(const char *what, double ours, double kernels, double tolerance) {
  print_message("# %s: %.2f MiB, the kernel says %.2f MiB\n", what, ours / mib, kernels / mib);
  assert_true(std::abs(ours - kernels) <= tolerance);
}

// Goes away after a failure, too.
struct Place {
  TemporaryDirectory directory;
  ControlGroup group{limit, directory.path()};
};

int make_place(void **state) {
  *state = new Place;
  return 0;
}

int remove_place(void **state) {
  delete static_cast<Place *>(*state);
  return 0;
}

void memory_and_disk_rate_are_those_of_the_group(void **state) {
  const auto &[directory, group] = *static_cast<Place *>(*state);
  if (!group.why_not().empty()) {
    print_message("# %s\n", group.why_not().c_str());
    skip();
  }
  int told[2], heard[2];
  assert_int_equal(pipe2(told, O_CLOEXEC), 0);
  assert_int_equal(pipe2(heard, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(heard[1]);
    be_sampled(group, directory / "file", told[1], heard[0]);
  }
  close(told[1]);
  close(heard[0]);
  Sampled sampled{};
  const ssize_t got = read(told[0], &sampled, sizeof sampled);
  const double used = static_cast<double>(group.memory_used()),
               spare = static_cast<double>(group.files_not_used_lately()),
               on_disk = static_cast<double>(group.written());
  close(heard[1]);
  close(told[0]);
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_int_equal(got, sizeof sampled);

  // The kernel counts pages in batches for each CPU, and what is written has its inodes.
  constexpr double batches = 4 * mib;
  assert_near("free memory", sampled.free[1], limit - (used - std::min(used, spare)), batches);
  assert_near("taken from what was free", sampled.free[0] - sampled.free[1], held, batches);
  assert_near("resident", sampled.resident[1] - sampled.resident[0], held, batches);
  assert_near("written a second", sampled.write_rate, written, mib);
  if (on_disk == 0) return print_message("# this machine does not count what a group writes\n");
  assert_near("written a second", sampled.write_rate, on_disk, mib);
  assert_true(sampled.disk_write_rate >= on_disk - mib);  // of all on this machine
}

}  // namespace

int test_cgroup() {
  const CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(memory_and_disk_rate_are_those_of_the_group, make_place,
                                      remove_place),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
