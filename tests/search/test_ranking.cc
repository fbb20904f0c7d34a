// Rankings of many results, against a plain sorted list.
#include "core/search/ranking.h"

#include <algorithm>

#include "core/search/random.h"
#include "tests/cmocka.h"

namespace det::search {

namespace {

using Entry = Ranking::Entry;

void assert_same(Ranking &ranking, const std::vector<Entry> &plain) {
  assert_int_equal(ranking.size(), plain.size());
  size_t place = 0;
  ranking.each([&](const Entry &entry) {
    assert_equal(entry.trial, plain[place].trial);
    assert_equal(entry.metric, plain[place].metric);
    assert_equal(ranking.at(place).trial, entry.trial);
    ++place;
  });
  assert_int_equal(place, plain.size());
}

void check_order(bool after_equals) {
  RandomState random(5);
  Ranking ranking;
  std::vector<Entry> plain;
  for (size_t trial = 0; trial < 3000; ++trial) {
    const Entry entry{static_cast<double>(random.below(300)), trial};
    const auto at = after_equals
                        ? std::ranges::upper_bound(plain, entry.metric, {}, &Entry::metric)
                        : std::ranges::lower_bound(plain, entry.metric, {}, &Entry::metric);
    const auto place = static_cast<size_t>(at - plain.begin());
    plain.insert(at, entry);
    assert_int_equal(
        after_equals ? ranking.insert_after_equals(entry) : ranking.insert_before_equals(entry),
        place);
  }
  assert_same(ranking, plain);
}

void results_go_after_their_equals(void **) { check_order(true); }

void results_go_before_their_equals(void **) { check_order(false); }

void results_that_are_appended_stay_in_their_order(void **) {
  Ranking ranking;
  std::vector<Entry> plain;
  for (size_t trial = 0; trial < 2000; ++trial) {
    plain.push_back({static_cast<double>(trial * 7 % 13), trial});
    ranking.append(plain.back());
  }
  assert_same(ranking, plain);
}

void results_that_are_erased_are_gone(void **) {
  Ranking ranking;
  std::vector<Entry> plain;
  for (size_t trial = 0; trial < 2000; ++trial) {
    plain.push_back({static_cast<double>(trial), trial});
    ranking.append(plain.back());
  }
  for (size_t trial = 0; trial < 2000; trial += trial < 1200 ? 1 : 3) {
    assert_true(ranking.erase(trial));
    assert_false(ranking.erase(trial));
    std::erase_if(plain, [&](const Entry &entry) { return entry.trial == trial; });
  }
  assert_same(ranking, plain);
  assert_int_equal(ranking.insert_after_equals({0.5, 7}), 0);
  ranking.clear();
  assert_true(ranking.empty());
  assert_int_equal(ranking.insert_before_equals({1, 1}), 0);
}

}  // namespace

}  // namespace det::search

int test_ranking() {
  using namespace det::search;
  const CMUnitTest tests[] = {
      cmocka_unit_test(results_go_after_their_equals),
      cmocka_unit_test(results_go_before_their_equals),
      cmocka_unit_test(results_that_are_appended_stay_in_their_order),
      cmocka_unit_test(results_that_are_erased_are_gone),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
