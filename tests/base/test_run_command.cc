// Commands that are run for what they say.
#include "core/base/process/run_command.h"

#include <cstdlib>

#include "tests/assert_equal.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"

namespace {

using namespace det;
using namespace std::chrono_literals;

constexpr auto no_limit = 60s;

void output_and_status_are_given(void **) {
  const CommandResult result = run_command("echo \"a b\"; cat; exit 3", {}, no_limit);
  assert_equal(result.output, "a b\n");
  assert_equal(result.status, 3);
  assert_equal(run_command("kill -TERM $$", {}, no_limit).status, 128 + 15);
  assert_equal(run_command("/no/such/program 2>/dev/null", {}, no_limit).status, 127);
}

void variables_come_before_our_own(void **) {
  setenv("DET_TEST_VARIABLE", "ours", 1);
  setenv("DET_TEST_VARIABLE_2", "kept", 1);
  const char *command = "echo $DET_TEST_VARIABLE $DET_TEST_VARIABLE_2";
  assert_equal(run_command(command, {"DET_TEST_VARIABLE=given"}, no_limit).output, "given kept\n");
  unsetenv("DET_TEST_VARIABLE");
  unsetenv("DET_TEST_VARIABLE_2");
}

void what_takes_too_long_is_killed_with_its_children(void **) {
  for (const char *command : {"echo secret; sleep 1000 & sleep 1000", "exec >&-; sleep 1000"}) {
    const std::string message =
        expect_error(Code::timeout, [&] { run_command(command, {}, 200ms); });
    assert_true(contains(message, "200 ms"));
    assert_false(contains(message, "secret"));
  }
}

void what_says_too_much_is_ended(void **) {
  assert_equal(run_command("printf %08d 1", {}, no_limit, 8).output, "00000001");
  expect_error(Code::invalid, [] { run_command("yes", {}, no_limit, 100'000); });
}

}  // namespace

int test_run_command() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(output_and_status_are_given),
      cmocka_unit_test(variables_come_before_our_own),
      cmocka_unit_test(what_takes_too_long_is_killed_with_its_children),
      cmocka_unit_test(what_says_too_much_is_ended),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
