// Counters that wrap, begin anew, come and go.
#include "core/profiler/rate.h"
#include "tests/assert_equal.h"
#include "tests/cmocka.h"

namespace {

using namespace det::profiler;
using std::chrono::seconds;

const Clock::time_point first_reading{};

void a_rate_is_the_change_per_second(void **) {
  Rate rate;
  assert_false(rate.of(100, first_reading).has_value());
  assert_equal(rate.of(300, first_reading + seconds(2)).value(), 100.0);
  assert_equal(rate.of(300, first_reading + seconds(3)).value(), 0.0);
}

// As a difference of unsigned numbers it would be 1.8e19 bytes.
void a_counter_that_steps_back_gives_no_rate_once(void **) {
  Rate rate;
  static_cast<void>(rate.of(1000, first_reading));
  assert_false(rate.of(10, first_reading + seconds(1)).has_value());
  assert_equal(rate.of(30, first_reading + seconds(2)).value(), 20.0);
}

void two_readings_of_one_moment_give_no_rate(void **) {
  Rate rate;
  static_cast<void>(rate.of(1, first_reading));
  assert_false(rate.of(2, first_reading).has_value());
}

void the_sum_of_devices_never_steps_back(void **) {
  using Counters = DeviceCounters<1>;
  Counters counters;
  const auto sum = [&](std::initializer_list<std::pair<const char *, uint64_t>> devices) {
    for (const auto &[name, count] : devices) counters.add(name, {count});
    return counters.sums()[0];
  };
  assert_int_equal(sum({{"a", 100}, {"b", 7}}), 0);
  assert_int_equal(sum({{"a", 130}, {"b", 8}}), 31);
  assert_int_equal(sum({{"b", 10}, {"a", 5}}), 33);    // one wrapped
  assert_int_equal(sum({{"a", 6}, {"c", 1000}}), 34);  // one is gone, one came
  assert_int_equal(sum({{"c", 1001}, {"a", 6}}), 35);
}

}  // namespace

int test_rate() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_rate_is_the_change_per_second),
      cmocka_unit_test(a_counter_that_steps_back_gives_no_rate_once),
      cmocka_unit_test(two_readings_of_one_moment_give_no_rate),
      cmocka_unit_test(the_sum_of_devices_never_steps_back),
  };
  return cmocka_run_group_tests_name("rate", tests, nullptr, nullptr);
}
