// The range over operations.
#include <iterator>

#include "tests/cpp/fixture.h"

namespace {

using namespace cpp_test;

static_assert(std::input_iterator<det::Operations::Iterator>);
static_assert(std::sentinel_for<det::Operations::End, det::Operations::Iterator>);

Run run_to(int length) {
  det::CoreOptions options;
  options.config =
      R"({"searcher": {"name": "single", "metric": "loss", "max_length": {"epochs": )" +
      std::to_string(length) + "}}}";
  return Run(options);
}

void a_loop_goes_through_the_operations(void **) {
  const Run run = run_to(5);
  const det::Searcher searcher = run.core.searcher();
  assert_equal(searcher.configured_units(), det::LengthUnit::epochs);
  int seen = 0;
  for (const det::Operation operation : searcher.operations()) {
    assert_equal(operation.length(), 5);
    operation.report_progress(2);
    operation.report_completed(0.5);
    ++seen;
  }
  assert_equal(seen, 1);
  assert_equal(searcher.next().has_value(), false);
  run.core.close();
}

void an_operation_that_is_not_completed_is_told(void **) {
  const Run run = run_to(5);
  expect_error(det::Code::state, [&] {
    for ([[maybe_unused]] const det::Operation operation : run.core.searcher().operations()) {
    }
  });
  det::Failure failure;
  for ([[maybe_unused]] const det::Operation operation : run.core.searcher().operations(failure))
    fail_msg("there is no other operation");
  assert_equal(failure.code(), det::Code::state);
  run.core.close(det::Outcome::error);
}

void who_asks_and_acknowledges_can_be_chosen(void **) {
  const Run run = run_to(2);
  const det::Searcher searcher = run.core.searcher();
  searcher.configure(det::SearcherMode::chief_only, false);
  expect_error(det::Code::state, [&] { searcher.acknowledge_out_of_ops(); });
  for (const det::Operation operation : searcher.operations())
    operation.report_completed_json("0.25");
  searcher.acknowledge_out_of_ops();
  expect_error(det::Code::state, [&] { searcher.configure(det::SearcherMode::chief_only); });
  run.core.close();
}

}  // namespace

int test_searcher() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_loop_goes_through_the_operations),
      cmocka_unit_test(an_operation_that_is_not_completed_is_told),
      cmocka_unit_test(who_asks_and_acknowledges_can_be_chosen),
  };
  return cmocka_run_group_tests_name("searcher", tests, nullptr, nullptr);
}
