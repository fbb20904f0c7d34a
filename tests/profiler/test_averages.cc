// Samples, averaged and reported by group.
#include "core/base/error.h"
#include "core/profiler/averages.h"
#include "tests/assert_equal.h"
#include "tests/expect_error.h"
#include "tests/profiler/scripted_sampler.h"

namespace {

using namespace det;
using namespace det::profiler;

void values_are_divided_by_the_number_of_samples(void **) {
  GroupAverages group("g");
  group.begin_sample();
  group.add("", "n1", 0);
  group.add("", "n2", 1);
  group.add("gpu", "n1", 4);
  group.begin_sample();
  group.add("", "n1", 2);
  group.add("", "n2", 3);
  group.add("", "late", 5);
  group.add("gpu", "n1", 8);
  assert_equal(group.averages(),
               Json({{"n1", 1.0}, {"n2", 2.0}, {"gpu", {{"n1", 6.0}}}, {"late", 2.5}}));
}

void what_is_no_number_is_left_out(void **) {
  GroupAverages group("g");
  group.begin_sample();
  group.add("", "a", NAN);
  group.add("", "b", INFINITY);
  assert_true(group.empty());
}

void groups_are_reported_in_their_order_and_empty_ones_not(void **) {
  Script script;
  Averages averages = script.averages({{"gpu", ""}, {"cpu", "a"}, {"disk", "b"}, {"cpu", "c"}});
  script.value = 1;
  averages.sample(Clock::now());
  script.value = 3;
  averages.sample(Clock::now());
  script.take(averages);
  assert_equal(script.reports,
               std::vector<std::string>{R"(cpu {"a":2.0,"c":2.0})", R"(disk {"b":2.0})"});
  script.take(averages);
  assert_equal(script.reports.size(), 2);  // begun anew
}

void a_failure_is_told_once_and_costs_the_others_nothing(void **) {
  Script script;
  Averages averages = script.averages({{"cpu", "a"}, {"disk", "b"}});
  script.failing = "disk";
  for (int i = 0; i < 3; ++i) averages.sample(Clock::now());
  assert_int_equal(script.asked["disk"], 3);
  script.failing.clear();
  averages.sample(Clock::now());
  script.failing = "disk";
  averages.sample(Clock::now());
  script.take(averages);
  assert_equal(script.lines.size(), 1);
  assert_true(contains(script.lines[0], "profiling disk: broken"));
  assert_equal(script.reports.size(), 2);
}

void what_cannot_be_is_not_asked_again(void **) {
  Script script;
  Averages averages = script.averages({{"cpu", "a"}, {"disk", "b"}});
  script.failing = "disk";
  script.code = Code::unsupported;
  for (int i = 0; i < 3; ++i) averages.sample(Clock::now());
  assert_int_equal(script.asked["disk"], 1);
  assert_int_equal(script.asked["cpu"], 3);
  assert_equal(script.lines.size(), 1);
}

void counters_are_read_once_a_second_and_where_a_report_ends(void **) {
  Script script;
  script.counts = true;
  Averages averages = script.averages({{"disk", "rate"}});
  const Clock::time_point begin = Clock::now();
  const auto sample = [&](int ms, bool last) {
    averages.sample(begin + std::chrono::milliseconds(ms), last);
  };
  sample(0, false);  // where they stand
  averages.forget();
  script.value = 4;
  for (int ms = 100; ms < 900; ms += 100) sample(ms, false);
  assert_int_equal(script.asked["disk"], 1);
  assert_true(averages.lacks_rates());
  sample(900, false);
  assert_int_equal(script.asked["disk"], 2);
  assert_false(averages.lacks_rates());
  script.value = 14;
  sample(1000, false);
  sample(1100, false);
  sample(1200, true);
  script.take(averages);
  assert_int_equal(script.asked["disk"], 3);
  assert_equal(script.reports, std::vector<std::string>{R"(disk {"rate":6.5})"});  // of 9 and 3
}

}  // namespace

int test_averages() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(values_are_divided_by_the_number_of_samples),
      cmocka_unit_test(what_is_no_number_is_left_out),
      cmocka_unit_test(groups_are_reported_in_their_order_and_empty_ones_not),
      cmocka_unit_test(a_failure_is_told_once_and_costs_the_others_nothing),
      cmocka_unit_test(what_cannot_be_is_not_asked_again),
      cmocka_unit_test(counters_are_read_once_a_second_and_where_a_report_ends),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
