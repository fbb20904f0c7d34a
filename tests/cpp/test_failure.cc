// Error and Failure.
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include "tests/cpp/fixture.h"

namespace {

using namespace cpp_test;

static_assert(std::is_nothrow_copy_constructible_v<det::Error>);
static_assert(std::is_base_of_v<std::runtime_error, det::Error>);
static_assert(!std::is_convertible_v<det::Failure, bool>);
static_assert(!std::is_convertible_v<std::string_view, det::Text>, "it need not end in NUL");

void an_error_has_what_c_says(void **) {
  det_error given = DET_ERROR_INIT;
  given.code = DET_E_HTTP;
  given.os_errno = 2;
  given.http_status = 503;
  given.retryable = 1;
  strcpy(given.message, "asking the master: busy");
  const det::Error error(given);
  assert_equal(error.code(), det::Code::http);
  assert_equal(error.os_errno(), 2);
  assert_equal(error.http_status(), 503);
  assert_true(error.retryable());
  assert_equal(std::string(error.what()), "asking the master: busy");
  det::Failure failure;
  assert_true(!failure);
  failure.fill(given);
  assert_true(static_cast<bool>(failure));
  assert_equal(failure.code(), det::Code::http);
  assert_equal(failure.os_errno(), 2);
  assert_equal(failure.http_status(), 503);
  assert_true(failure.retryable());
  assert_equal(std::string(failure.message()), "asking the master: busy");
}

void each_call_fills_or_clears_it(void **) {
  const Run run;
  det::Failure failure;
  run.core.train().report_progress(7, failure);
  assert_equal(failure.code(), det::Code::invalid);
  expect_part(failure.message(), "7");
  run.core.train().report_progress(1, failure);
  assert_true(!failure);
  assert_equal(std::string(failure.message()), "");
  run.core.close(det::Outcome::ok, failure);
  assert_true(!failure);
  assert_false(run.core.preempt().should_preempt(failure));
  assert_equal(failure.code(), det::Code::state);
}

void codes_have_names(void **) {
  assert_equal(std::string(det::status_name(det::Code::not_found)), "DET_E_NOT_FOUND");
  assert_equal(det::version(), DET_VERSION_NUMBER);
  assert_equal(std::string(det::version_string()), "0.1.0");
  assert_true(det::has_feature("http"));
  assert_false(det::has_feature(nullptr));
}

}  // namespace

int test_failure() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(an_error_has_what_c_says),
      cmocka_unit_test(each_call_fills_or_clears_it),
      cmocka_unit_test(codes_have_names),
  };
  return cmocka_run_group_tests_name("failure", tests, nullptr, nullptr);
}
