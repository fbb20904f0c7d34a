// Metrics of several ranks as one.
#include "core/trial/ranks/average_metrics.h"

#include <cmath>

#include "core/base/error.h"
#include "tests/cmocka.h"
#include "tests/comm/ranks.h"

namespace det::test {
namespace {

using Texts = std::vector<std::string>;

// Of ranks that report each of `given`, with weights where there are any.
Outcome average(const Texts &given, const std::vector<double> &weights, Texts &averages) {
  averages.resize(given.size());
  return run_ranks(1, static_cast<int>(given.size()), [&](comm::Communicator &communicator) {
    const auto rank = static_cast<size_t>(communicator.ranks().rank);
    const auto weight = rank < weights.size() ? std::optional(weights[rank]) : std::nullopt;
    averages[rank] = to_wire(trial::average_metrics(
        communicator, [&] { return given[rank]; }, weight));
  });
}

void expect(const Texts &given, const std::vector<double> &weights, const char *expected) {
  Texts averages;
  assert_string_equal(average(given, weights, averages).all().c_str(), "");
  for (const std::string &text : averages) assert_string_equal(text.c_str(), expected);
}

void expect_error_on_all(const Texts &given, const std::vector<double> &weights, Code code,
                         const char *words) {
  Texts averages;
  const Outcome outcome = average(given, weights, averages);
  for (int rank = 0; rank < static_cast<int>(given.size()); ++rank) {
    if (outcome.text(rank).find(words) == std::string::npos)
      assert_string_equal(outcome.text(rank).c_str(), words);
    assert_int_equal(outcome.code(rank), code);
  }
}

void metrics_are_averaged_by_sorted_keys(void **) {
  expect(
      {R"({"loss": 1, "acc": 0.5, "who": "chief"})", R"({"who": "other", "acc": 1.5, "loss": 4})"},
      {}, R"({"acc":1.0,"loss":2.5,"who":"chief"})");
  expect({R"({"loss": 3.5, "tags": [1]})"}, {}, R"({"loss":3.5,"tags":[1]})");
  expect({R"({"loss": NaN})", R"({"loss": 1.0})"}, {}, R"({"loss":"NaN"})");
}

void whole_numbers_stay_whole(void **) {
  expect({R"({"step": 2})", R"({"step": 4})"}, {}, R"({"step":3})");
  expect({R"({"step": 9007199254740993})", R"({"step": 9007199254740993})"}, {},
         R"({"step":9007199254740993})");
}

void ranks_count_by_their_weights(void **) {
  expect({R"({"loss": 1.0})", R"({"loss": 5.0})"}, {30, 10}, R"({"loss":2.0})");
  expect({R"({"loss": 1.5})", R"({"loss": NaN})"}, {30, 0}, R"({"loss":1.5})");
  expect_error_on_all({"{}", "{}"}, {0, 0}, Code::invalid, "weights of all ranks are 0");
  expect_error_on_all({"{}", "{}"}, {1, -1}, Code::invalid, "number of records");
  expect_error_on_all({"{}", "{}"}, {1}, Code::conflict, "only one of them gives a weight");
}

void metrics_that_differ_are_heard_of(void **) {
  expect_error_on_all({R"({"loss": 1})", "{}"}, {}, Code::conflict,
                      "rank 0 reports 'loss' and rank 1 does not");
  expect_error_on_all({"{}", R"({"acc": 1})", "{}"}, {}, Code::conflict,
                      "rank 1 reports 'acc' and rank 0 does not");
  expect_error_on_all({R"({"a": 1})", R"({"a": "1"})"}, {}, Code::conflict, "only one of them");
  expect_error_on_all({"[]", "{}"}, {}, Code::invalid, "expected a JSON object");
}

}  // namespace
}  // namespace det::test

int test_average_metrics() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(metrics_are_averaged_by_sorted_keys),
      cmocka_unit_test(whole_numbers_stay_whole),
      cmocka_unit_test(ranks_count_by_their_weights),
      cmocka_unit_test(metrics_that_differ_are_heard_of),
  };
  return cmocka_run_group_tests_name("average_metrics", tests, nullptr, nullptr);
}
