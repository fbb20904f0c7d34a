// How trials and lengths are shared out among the halvings of a search.
#include <cmath>

#include "core/search/brackets.h"
#include "core/search/settings.h"
#include "tests/cmocka.h"
#include "tests/search/driver.h"

namespace det::search {

namespace {

Json adaptive(uint64_t length, uint64_t trials, Json more) {
  Json searcher{{"name", "adaptive_asha"},
                {"metric", "loss"},
                {"max_length", {{"batches", length}}},
                {"max_trials", trials}};
  searcher.update(more);
  return searcher;
}

// Rungs: trials/concurrent [lengths], one bracket after the other.
std::string in_short(const Json &searcher) {
  std::string text;
  for (const Bracket &bracket : brackets(read_search_settings(searcher, SearchRules::operations))) {
    text += (text.empty() ? "" : " ") + std::to_string(bracket.lengths.size()) + ":" +
            std::to_string(bracket.max_trials) + "/" +
            std::to_string(bracket.max_concurrent_trials) + "[";
    for (size_t i = 0; i < bracket.lengths.size(); ++i)
      text += (i > 0 ? " " : "") + std::to_string(bracket.lengths[i]);
    text += "]";
  }
  return text;
}

void brackets_are_those_of_the_platform(void **) {
  for (const Json vectors = read_vectors("brackets.json");
       const Json &recorded : vectors.at("cases")) {
    Json more = recorded;
    for (const char *other : {"brackets", "length", "max_trials"}) more.erase(other);
    std::string expected;
    for (const Json &bracket : recorded.at("brackets")) {
      std::string lengths = bracket.at("lengths").dump();
      for (char &c : lengths)
        if (c == ',') c = ' ';
      expected += (expected.empty() ? "" : " ") + bracket.at("rungs").dump() + ":" +
                  bracket.at("max_trials").dump() + "/" +
                  bracket.at("max_concurrent_trials").dump() + lengths;
    }
    assert_string_equal(
        in_short(adaptive(recorded.at("length"), recorded.at("max_trials"), more)).c_str(),
        expected.c_str());
  }
}

void modes_share_trials_as_in_the_table(void **) {
  struct Row {
    Json searcher;
    const char *aggressive, *standard, *conservative;
  };
  const Row rows[] = {
      {adaptive(256, 64, {{"divisor", 4}, {"max_rungs", 5}, {"max_concurrent_trials", 16}}),
       "4:64/16[4 16 64 256]", "4:45/6[4 16 64 256] 3:14/5[16 64 256] 2:5/5[64 256]",
       "4:43/4[4 16 64 256] 3:14/4[16 64 256] 2:5/4[64 256] 1:2/4[256]"},
      {adaptive(1000, 100, Json::object()), "4:100/16[15 62 250 1000]",
       "4:70/6[15 62 250 1000] 3:22/5[62 250 1000] 2:8/5[250 1000]",
       "4:67/4[15 62 250 1000] 3:21/4[62 250 1000] 2:8/4[250 1000] 1:4/4[1000]"},
      {adaptive(64, 16, Json::object()), "3:16/16[4 16 64]", "3:12/8[4 16 64] 2:4/8[16 64]",
       "3:12/6[4 16 64] 2:3/5[16 64] 1:1/5[64]"},
      {adaptive(100, 10, Json::object()), "2:10/16[25 100]", "2:7/8[25 100] 1:3/8[100]",
       "2:7/8[25 100] 1:3/8[100]"},
      {adaptive(1000, 100, {{"divisor", 3}, {"max_rungs", 4}, {"max_concurrent_trials", 8}}),
       "4:100/8[37 111 333 1000]", "4:61/3[37 111 333 1000] 3:26/3[111 333 1000] 2:13/2[333 1000]",
       "4:56/2[37 111 333 1000] 3:24/2[111 333 1000] 2:12/2[333 1000] 1:8/2[1000]"},
      {adaptive(900, 5, {{"divisor", 3}, {"max_rungs", 2}}), "2:5/16[300 900]",
       "2:3/8[300 900] 1:2/8[900]", "2:3/8[300 900] 1:2/8[900]"},
      {adaptive(16, 100, {{"max_concurrent_trials", 0}}), "3:100/100[1 4 16]",
       "3:73/27[1 4 16] 2:27/27[4 16]", "3:64/12[1 4 16] 2:24/12[4 16] 1:12/12[16]"},
      {adaptive(9000, 100, {{"max_concurrent_trials", 2}}), "4:100/2[140 562 2250 9000]",
       "4:70/1[140 562 2250 9000] 3:22/1[562 2250 9000] 2:8/1[2250 9000]",
       "4:67/1[140 562 2250 9000] 3:21/1[562 2250 9000] 2:8/1[2250 9000] 1:4/1[9000]"},
      {adaptive(2, 100, Json::object()), "1:100/16[2]", "1:100/16[2]", "1:100/16[2]"},
      {adaptive(1000, 100, {{"bracket_rungs", {2, 5, 1}}}),
       "5:96/6[3 15 62 250 1000] 2:3/5[250 1000] 1:1/5[1000]",
       "5:96/6[3 15 62 250 1000] 2:3/5[250 1000] 1:1/5[1000]",
       "5:96/6[3 15 62 250 1000] 2:3/5[250 1000] 1:1/5[1000]"},
  };
  for (const Row &row : rows) {
    Json searcher = row.searcher;
    searcher["mode"] = "aggressive";
    assert_string_equal(in_short(searcher).c_str(), row.aggressive);
    searcher["mode"] = "standard";
    assert_string_equal(in_short(searcher).c_str(), row.standard);
    searcher["mode"] = "conservative";
    assert_string_equal(in_short(searcher).c_str(), row.conservative);
  }
}

void trials_may_be_more_than_asked_for_to_give_each_bracket_one(void **) {
  assert_string_equal(
      in_short(adaptive(1000, 2, {{"bracket_rungs", {3, 2, 1}}, {"max_concurrent_trials", 3}}))
          .c_str(),
      "3:1/1[62 250 1000] 2:1/1[250 1000] 1:1/1[1000]");
}

std::string shared_trials(uint64_t trials, double divisor, const Json &rungs) {
  const Json searcher = adaptive(1000000, trials, {{"divisor", divisor}, {"bracket_rungs", rungs}});
  std::string text;
  for (const Bracket &bracket : brackets(read_search_settings(searcher, SearchRules::operations)))
    text += (text.empty() ? "" : " ") + std::to_string(bracket.max_trials);
  return text;
}

void trials_are_shared_by_the_weight_of_brackets(void **) {
  assert_string_equal(shared_trials(20, 3, {3, 2, 1}).c_str(), "12 5 3");
  assert_string_equal(shared_trials(50, 3, {4, 3}).c_str(), "35 15");
  assert_string_equal(shared_trials(50, 4, {3, 2}).c_str(), "37 13");
  assert_string_equal(shared_trials(100, 4, {4, 3, 2}).c_str(), "70 22 8");
}

void logarithms_of_powers_are_exact(void **) {
  for (uint64_t base = 2; base <= 8; ++base) {
    double power = 1;
    for (int exponent = 0; power <= 1e9; ++exponent, power *= static_cast<double>(base))
      assert_int_equal(
          static_cast<int>(natural_logarithm(power) / natural_logarithm(static_cast<double>(base))),
          exponent);
  }
  // The formula is one short of some powers of ten, and so is the platform.
  assert_int_equal(static_cast<int>(natural_logarithm(1000) / natural_logarithm(10)), 2);
  for (double x = 1e-300; x < 1e300; x *= 3.7)
    assert_true(std::fabs(natural_logarithm(x) - std::log(x)) <= 1e-14 * std::fabs(std::log(x)));
}

void number_of_rungs_counts_whole_powers(void **) {
  assert_string_equal(in_short(adaptive(243, 1000,
                                        {{"divisor", 3},
                                         {"max_rungs", 10},
                                         {"mode", "aggressive"},
                                         {"max_concurrent_trials", 7}}))
                          .c_str(),
                      "6:1000/7[1 3 9 27 81 243]");
}

void lengths_of_rungs_shrink_by_the_divisor(void **) {
  assert_equal(rung_lengths(3, 9, 3), (std::vector<uint64_t>{1, 3, 9}));
  assert_equal(rung_lengths(4, 10, 2), (std::vector<uint64_t>{1, 2, 5, 10}));
  assert_equal(rung_lengths(1, 9, 3), (std::vector<uint64_t>{9}));
  assert_equal(rung_lengths(3, 900, 3), (std::vector<uint64_t>{100, 300, 900}));
  assert_equal(rung_lengths(3, 12, 3), (std::vector<uint64_t>{1, 4, 12}));
  assert_equal(rung_lengths(3, 576000, 3), (std::vector<uint64_t>{64000, 192000, 576000}));
}

void times_make_the_brackets_where_metrics_steer(void **) {
  Json searcher{{"name", "adaptive_asha"}, {"metric", "loss"}, {"time_metric", "batches"},
                {"max_time", 100},         {"max_trials", 10}, {"max_concurrent_trials", 2}};
  const auto shared = [&] {
    std::string text;
    for (const Bracket &bracket : brackets(read_search_settings(searcher, SearchRules::metrics)))
      text += "(" + std::to_string(bracket.lengths.size()) + " " +
              std::to_string(bracket.max_trials) + " " +
              std::to_string(bracket.max_concurrent_trials) + ")";
    return text;
  };
  assert_string_equal(shared().c_str(), "(2 7 1)(1 3 1)");
  searcher.update(
      {{"mode", "conservative"}, {"max_time", 1000}, {"divisor", 3}, {"max_concurrent_trials", 5}});
  assert_string_equal(shared().c_str(), "(3 7 2)(2 2 2)(1 1 1)");
}

}  // namespace

}  // namespace det::search

int test_brackets() {
  using namespace det::search;
  const CMUnitTest tests[] = {
      cmocka_unit_test(brackets_are_those_of_the_platform),
      cmocka_unit_test(modes_share_trials_as_in_the_table),
      cmocka_unit_test(trials_may_be_more_than_asked_for_to_give_each_bracket_one),
      cmocka_unit_test(trials_are_shared_by_the_weight_of_brackets),
      cmocka_unit_test(logarithms_of_powers_are_exact),
      cmocka_unit_test(number_of_rungs_counts_whole_powers),
      cmocka_unit_test(lengths_of_rungs_shrink_by_the_divisor),
      cmocka_unit_test(times_make_the_brackets_where_metrics_steer),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
