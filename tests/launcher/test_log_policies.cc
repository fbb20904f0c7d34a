// Which lines of a log end the restarts of the trial that printed them.
#include "core/base/json.h"
#include "core/launcher/log_policies.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"

namespace {

using namespace det;
using namespace det::launcher;

LogPolicies policies(const char *list) {
  return LogPolicies(Json{{"log_policies", parse_json(list, "a list")}});
}

void both_releases_write_what_is_to_happen(void **) {
  const LogPolicies older =
      policies(R"([{"pattern": "out of (GPU )?memory", "action": {"type": "cancel_retries"}}])");
  assert_string_equal(older.forbids_restarts("E: out of memory, 3 GB").value().c_str(),
                      "out of (GPU )?memory");
  assert_false(older.forbids_restarts("all is well").has_value());
  const LogPolicies newer = policies(
      R"([{"name": "memory", "pattern": "out of", "action": "cancel_retries"},
          {"name": "node", "pattern": "ECC", "action": "exclude_node"}])");
  assert_string_equal(newer.forbids_restarts("out of it").value().c_str(), "memory");
  assert_string_equal(newer.forbids_restarts("an ECC error").value().c_str(), "node");
}

void policy_that_only_labels_ends_nothing(void **) {
  const LogPolicies labels = policies(
      R"([{"name": "CUDA OOM", "pattern": ".*CUDA out of memory.*"}, {"name": "ECC Error"}])");
  assert_false(labels.forbids_restarts("CUDA out of memory").has_value());
  assert_false(LogPolicies(Json::object()).forbids_restarts("anything").has_value());
}

void printed_configuration_does_not_count(void **) {
  const LogPolicies some =
      policies(R"([{"pattern": "fail", "action": {"type": "cancel_retries"}}])");
  assert_false(some.forbids_restarts(R"({"log_policies": [{"pattern": "fail"}]})").has_value());
  assert_true(some.forbids_restarts("log_policies fail").has_value());
}

void line_of_any_bytes_is_read_in_time_that_its_length_bounds(void **) {
  const LogPolicies some =
      policies(R"([{"pattern": "(x+x+)+y", "action": {"type": "cancel_retries"}}])");
  assert_false(some.forbids_restarts(std::string(64 << 10, 'x')).has_value());
  assert_false(some.forbids_restarts(std::string("\0\xff\n", 3)).has_value());
  assert_true(some.forbids_restarts(std::string("\0xxy", 4)).has_value());
}

void pattern_that_is_none_is_refused(void **) {
  const std::string why =
      expect_error(Code::invalid, [] { policies(R"~([{"name": "n", "pattern": "(unclosed"}])~"); });
  assert_true(contains(why, "(unclosed") && contains(why, "missing )"));
  expect_error(Code::invalid, [] { policies(R"~([{"pattern": "(?=later)", "action": "x"}])~"); });
}

}  // namespace

int test_log_policies() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(both_releases_write_what_is_to_happen),
      cmocka_unit_test(policy_that_only_labels_ends_nothing),
      cmocka_unit_test(printed_configuration_does_not_count),
      cmocka_unit_test(line_of_any_bytes_is_read_in_time_that_its_length_bounds),
      cmocka_unit_test(pattern_that_is_none_is_refused),
  };
  return cmocka_run_group_tests_name("log_policies", tests, nullptr, nullptr);
}
