// Allocations that fail while looking around on the machine.
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/launcher/local/machine.h"
#include "core/launcher/local/process_session.h"
#include "tests/cmocka.h"
#include "tests/failing_memory.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;
using namespace det::launcher;

void without_memory_no_gpu_is_overlooked(void **) {
  unsetenv("CUDA_VISIBLE_DEVICES");
  const TemporaryDirectory machine;
  for (const char *gpu : {"0000:01:00.0", "0000:02:00.0"})
    std::filesystem::create_directories(machine / "proc/driver/nvidia/gpus" / gpu);
  test::with_each_allocation_failing(
      [&] { assert_int_equal(visible_gpus(machine.path()).size(), 2); });
}

void without_memory_nothing_of_a_session_is_forgotten(void **) {
  const pid_t leader = fork();
  if (leader == 0) {
    setsid();
    for (;;) pause();
  }
  while (getsid(leader) != leader) sched_yield();
  test::with_each_allocation_failing([&] { kill_session(leader, [](pid_t) { return true; }); });
  int status = 0;
  assert_int_equal(waitpid(leader, &status, 0), leader);
  assert_int_equal(status, SIGKILL);
}

}  // namespace

int test_memory() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(without_memory_no_gpu_is_overlooked),
      cmocka_unit_test(without_memory_nothing_of_a_session_is_forgotten),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
