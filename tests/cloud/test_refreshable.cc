// Credentials are asked for by one thread, in time, and not once for each who finds them refused.
#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "core/cloud/refreshable.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"

namespace {

using namespace det;
using namespace det::cloud;
using namespace std::chrono_literals;

using Number = Refreshable<int>;

// Gives 1, 2, 3... each for an hour, by a clock of the test's own.
struct Giver {
  Number::Clock::time_point now{std::chrono::hours{500'000}};
  std::chrono::seconds life = 1h;
  bool fails = false;
  int asked = 0;

  Number numbers() {
    return Number(
        [this]() -> Number::Lease {
          ++asked;
          if (fails) throw Error(Code::unavailable, "nobody there");
          return {asked, now + life};
        },
        5min, [this] { return now; });
  }
};

void it_is_kept_until_shortly_before_its_end(void **) {
  Giver giver;
  Number numbers = giver.numbers();
  assert_int_equal(numbers.get(), 1);
  giver.now += 54min;
  assert_int_equal(numbers.get(), 1);
  giver.now += 1min;
  assert_int_equal(numbers.get(), 2);
}

void what_ends_soon_is_kept_for_half_of_its_life(void **) {
  Giver giver;
  giver.life = 60s;
  Number numbers = giver.numbers();
  assert_int_equal(numbers.get(), 1);
  giver.now += 29s;
  assert_int_equal(numbers.get(), 1);
  giver.now += 1s;
  assert_int_equal(numbers.get(), 2);
}

void a_failure_matters_once_nothing_is_valid(void **) {
  Giver giver;
  Number numbers = giver.numbers();
  numbers.get();
  giver.fails = true;
  giver.now += 58min;
  assert_int_equal(numbers.get(), 1);
  assert_int_equal(numbers.get(), 1);
  assert_int_equal(giver.asked, 2);  // not again at once
  giver.now += 2min;
  expect_error(Code::unavailable, [&] { numbers.get(); });
  giver.fails = false;
  assert_int_equal(numbers.get(), 4);
}

void what_is_refused_is_asked_for_anew_once(void **) {
  Giver giver;
  Number numbers = giver.numbers();
  numbers.get();
  giver.now += 1min;
  numbers.drop();
  assert_int_equal(numbers.get(), 2);
  numbers.drop();  // by one who had the first one
  assert_int_equal(numbers.get(), 2);
}

void one_asks_and_the_others_wait(void **) {
  for (const bool fails : {false, true}) {
    std::promise<void> open;
    const std::shared_future<void> gate = open.get_future().share();
    std::atomic<int> asked{0}, begun{0}, refused{0};
    Number numbers([&]() -> Number::Lease {
      ++asked;
      gate.wait();
      if (fails) throw Error(Code::access, "no");
      return {7};
    });
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        ++begun;
        try {
          numbers.get();
        } catch (const Error &) {
          ++refused;
        }
      });
    while (begun < 8 || asked == 0) std::this_thread::yield();
    open.set_value();
    for (std::thread &thread : threads) thread.join();
    if (!fails) assert_int_equal(asked, 1);  // one that comes late asks again after a failure
    assert_int_equal(refused, fails ? 8 : 0);
  }
}

}  // namespace

int test_refreshable() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(it_is_kept_until_shortly_before_its_end),
      cmocka_unit_test(what_ends_soon_is_kept_for_half_of_its_life),
      cmocka_unit_test(a_failure_matters_once_nothing_is_valid),
      cmocka_unit_test(what_is_refused_is_asked_for_anew_once),
      cmocka_unit_test(one_asks_and_the_others_wait),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
