// How many requests are under way at once, before masters that are played.
#include <queue>

#include "core/master/rest/window.h"
#include "tests/cmocka.h"

namespace {

using namespace det;
using namespace det::master;

struct PlayedMaster {
  double network;  // seconds there and back, and what is done for each request by itself
  double row;      // seconds it holds the row of the trial
};

struct Outcome {
  size_t size;
  double rate;
};

// Requests as fast as the window lets them, each answered after those before it.
Outcome play(const PlayedMaster &master, Window &window, int requests) {
  std::queue<std::pair<double, double>> under_way;  // sent, answered
  double now = 0, row_is_free = 0;
  for (int i = 0; i < requests; ++i) {
    while (under_way.size() >= window.size()) {
      const auto [sent, answered] = under_way.front();
      under_way.pop();
      now = std::max(now, answered);
      window.answered(Window::Duration(answered - sent));
    }
    row_is_free = std::max(row_is_free, now + master.network) + master.row;
    under_way.emplace(now, row_is_free);
  }
  return {window.size(), requests / now};
}

void few_keep_a_master_nearby_busy(void **) {
  Window window;
  const Outcome outcome = play({.network = 0.001, .row = 0.006}, window, 2000);
  assert_in_range(outcome.size, 3, 6);
  assert_true(outcome.rate > 0.98 / 0.006);  // all that the row allows
}

void many_keep_a_master_far_away_busy(void **) {
  Window window;
  const Outcome outcome = play({.network = 0.060, .row = 0.006}, window, 5000);
  assert_in_range(outcome.size, 12, 16);
  assert_true(outcome.rate > 0.95 / 0.006);
}

void all_leave_where_answers_come_at_once(void **) {
  Window window;
  const Outcome outcome = play({.network = 0.00005, .row = 0.00002}, window, 5000);
  assert_int_equal(outcome.size, 32);
}

void no_more_than_so_many_leave_at_once(void **) {
  Window window;
  assert_int_equal(play({.network = 1, .row = 0.0001}, window, 5000).size, 32);
}

void one_asks_whether_the_master_is_back(void **) {
  Window window;
  play({.network = 0.060, .row = 0.006}, window, 1000);
  window.failed();
  assert_int_equal(window.size(), 1);
  assert_in_range(play({.network = 0.060, .row = 0.006}, window, 1000).size, 12, 16);
}

void a_master_that_became_slower_is_not_crowded_for_ever(void **) {
  Window window;
  play({.network = 0.060, .row = 0.001}, window, 5000);
  assert_in_range(play({.network = 0.001, .row = 0.020}, window, 5000).size, 3, 6);
}

}  // namespace

int test_window() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(few_keep_a_master_nearby_busy),
      cmocka_unit_test(many_keep_a_master_far_away_busy),
      cmocka_unit_test(all_leave_where_answers_come_at_once),
      cmocka_unit_test(no_more_than_so_many_leave_at_once),
      cmocka_unit_test(one_asks_whether_the_master_is_back),
      cmocka_unit_test(a_master_that_became_slower_is_not_crowded_for_ever),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
