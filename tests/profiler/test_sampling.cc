// The thread that samples.
#include <thread>

#include "core/profiler/sampling.h"
#include "tests/assert_equal.h"
#include "tests/expect_error.h"
#include "tests/profiler/scripted_sampler.h"
#include "tests/threads.h"

namespace {

using namespace det;
using namespace det::profiler;

std::unique_ptr<Sampling> start(Script &script, std::chrono::duration<double> interval, int samples,
                                Averages::Take take = nullptr) {
  return std::make_unique<Sampling>(
      [&script] {
        return script.samplers({{"cpu", "a"}});
      },
      take ? take : script.taker(), script.logger(), SamplingOptions{interval, samples});
}

void reports_come_after_so_many_samples(void **) {
  Script script;
  auto sampling = start(script, std::chrono::milliseconds(1), 3);
  while (script.count() < 4) std::this_thread::yield();
  sampling.reset();
  const int asked = script.asked["cpu"];
  assert_true(asked >= 1 + 4 * 3);
  // The first only sets the base; the rest of the last report is not lost.
  assert_equal(script.reports.size(), static_cast<size_t>((asked - 1 + 2) / 3));
  assert_equal(script.reports.back(), R"(cpu {"a":1.0})");
}

void a_short_run_has_a_sample_of_what_there_was(void **) {
  Script script;
  auto sampling = start(script, std::chrono::hours(1), 10);
  while (script.sampled == 0) std::this_thread::yield();
  wait_until_other_threads_sleep();  // the run begins with a sample, as the base of others
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // long enough to be one
  sampling.reset();
  assert_equal(script.reports, std::vector<std::string>{R"(cpu {"a":1.0})"});
}

void what_counters_grew_by_before_the_end_is_reported(void **) {
  Script script;
  script.counts = true;
  auto sampling = start(script, std::chrono::milliseconds(1), 1'000'000);
  while (script.sampled < 4) std::this_thread::yield();
  sampling.reset();
  assert_equal(script.reports, std::vector<std::string>{R"(cpu {"a":1.0})"});
}

void stopping_does_not_wait_for_the_interval(void **) {
  Script script;
  start(script, std::chrono::duration<double>(1e300), 1).reset();  // or this test hangs
}

void a_report_that_fails_is_told_once(void **) {
  Script script;
  std::atomic<int> tried{0};
  auto sampling =
      start(script, std::chrono::milliseconds(1), 1, [&](std::string_view, const Json &) {
        ++tried;
        throw Error(Code::full, "no room");
      });
  while (tried < 3) std::this_thread::yield();
  sampling.reset();
  assert_equal(script.lines.size(), 1);
  assert_true(contains(script.lines[0], "no room"));
}

}  // namespace

int test_sampling() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(reports_come_after_so_many_samples),
      cmocka_unit_test(a_short_run_has_a_sample_of_what_there_was),
      cmocka_unit_test(what_counters_grew_by_before_the_end_is_reported),
      cmocka_unit_test(stopping_does_not_wait_for_the_interval),
      cmocka_unit_test(a_report_that_fails_is_told_once),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
