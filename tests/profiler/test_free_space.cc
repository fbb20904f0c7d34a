// File systems that answer, and one that does not.
#include <atomic>
#include <latch>
#include <thread>

#include "core/profiler/free_space.h"
#include "tests/assert_equal.h"

namespace {

using namespace det;
using namespace det::profiler;
using Answers = std::vector<std::optional<double>>;

Answers await_answer(FreeSpace &space, size_t of) {
  for (;;) {
    Answers answers = space.ask();
    if (answers[of]) return answers;
    std::this_thread::yield();
  }
}

void mounts_answer_again_and_again(void **) {
  std::atomic<int> asked{0};
  FreeSpace space({"/", "/none"}, [&](const std::filesystem::path &path) {
    return path == "/" ? std::optional<double>(++asked) : std::nullopt;
  });
  for (int i = 0; i < 3; ++i) {
    Answers answers = await_answer(space, 0);
    while (*answers[0] < i + 1) answers = await_answer(space, 0);  // the one before, until it came
    assert_false(answers[1].has_value());
  }
}

void a_dead_mount_is_left_out_and_asked_once(void **) {
  std::latch dead(1), over(1);
  std::atomic<int> asked{0};
  {
    FreeSpace space({"/", "/dead"}, [&](const std::filesystem::path &path) {
      if (path == "/") return std::optional(1.0);
      ++asked;
      dead.wait();
      over.count_down();
      return std::optional(2.0);
    });
    await_answer(space, 0);
    for (int i = 0; i < 100; ++i) assert_false(space.ask()[1].has_value());
  }  // does not wait for it
  assert_int_equal(asked.load(), 1);
  dead.count_down();
  over.wait();
}

void this_machine_has_a_root(void **) {
  const auto percent = FreeSpace::used_percent("/");
  assert_true(percent.has_value() && *percent >= 0 && *percent <= 100);
  assert_false(FreeSpace::used_percent("/no/such/path").has_value());
}

}  // namespace

int test_free_space() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(mounts_answer_again_and_again),
      cmocka_unit_test(a_dead_mount_is_left_out_and_asked_once),
      cmocka_unit_test(this_machine_has_a_root),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
