// What a configuration holds in secret.
#include "core/config/secrets.h"

#include <array>

#include "core/config/experiment/yaml.h"

#include "tests/cmocka.h"

namespace {

using namespace det;
using namespace det::test;

const char *const text = R"({
  "name": "secret",
  "checkpoint_storage": {"type": "s3", "bucket": "b", "access_key": "AK", "secret_key": "SK",
                         "session_token": null},
  "tensorboard_storage": {"type": "azure", "container": "c", "connection_string": "CS",
                          "credential": "CR", "customer_key": "CK"},
  "environment": {"image": "i", "registry_auth": {"username": "u", "password": "PW", "auth": "AU",
                  "identitytoken": "IT", "registrytoken": "RT", "email": ""}},
  "data": {"x": "y", "secrets": {"a": "DA", "deep": {"b": "DB"}, "n": 123456, "list": ["LA"]}}})";

constexpr std::array secrets{"AK", "SK", "CS", "CR", "CK", "PW",
                             "AU", "IT", "RT", "DA", "DB", "LA"};

void assert_without_secrets(const std::string &shown) {
  for (const char *secret : secrets)
    assert_true(shown.find("\"" + std::string(secret) + "\"") == shown.npos);
}

void each_secret_is_taken_and_put_back(void **) {
  const Json config = parse_json(text, "x");
  Json recorded = config;
  const Json taken = config::take_secrets(recorded);
  assert_without_secrets(to_wire(recorded));
  assert_equal(recorded["checkpoint_storage"]["secret_key"], "********");
  assert_equal(recorded["checkpoint_storage"]["bucket"], "b");
  assert_true(recorded["checkpoint_storage"]["session_token"].is_null());
  assert_equal(recorded["environment"]["registry_auth"]["username"], "u");
  assert_equal(recorded["data"]["secrets"]["n"], "********");
  Json again = recorded;
  assert_equal(config::take_secrets(again), Json::object());
  config::put_secrets(recorded, taken);
  assert_equal(recorded, config);
  assert_without_secrets(to_wire(config::with_masked_secrets(config)));
  assert_without_secrets(config::with_masked_secrets(std::string(text), config));
}

void no_form_of_a_text_hides_a_secret(void **) {
  const std::string before = "# AK\ncheckpoint_storage:\n  bucket: b\n  secret_key: ";
  const std::string masked =
      config::with_masked_secrets(before + "SECRET", config::read_yaml(before + "SECRET").value);
  assert_equal(masked, before + "********");
  for (const char *form :
       {"|\n    SECRET\n    MORE\n", ">\n    SECRET\n    MORE\n", "\"SECRET\\\\MORE\"",
        "'SECRET''MORE'", "SECRET\n    MORE", "1234567.0", "[SECRET, MORE]", "\"SE\\x43RET\""}) {
    const std::string given = before + form;
    const std::string shown = config::with_masked_secrets(given, config::read_yaml(given).value);
    for (const char *part : {"SECRET", "MORE", "123", "SE\\x"})
      assert_true(shown.find(part) == shown.npos);
    assert_equal(config::read_yaml(shown).value["checkpoint_storage"]["bucket"], "b");
  }
}

void a_secret_that_nobody_knows_is_left_out(void **) {
  Json config = config::with_masked_secrets(parse_json(text, "x"));
  config::put_secrets(config, Json::object());
  assert_false(config["checkpoint_storage"].contains("secret_key"));
  assert_equal(config["checkpoint_storage"]["type"], "s3");
  assert_true(to_wire(config).find("***") == std::string::npos);
}

void a_configuration_without_sections_has_none(void **) {
  for (const char *other : {"{}", R"({"checkpoint_storage": null, "data": 1})",
                            R"({"environment": [], "checkpoint_storage": "x"})"}) {
    Json config = parse_json(other, "x");
    assert_equal(config::take_secrets(config), Json::object());
    assert_equal(config, parse_json(other, "x"));
  }
}

}  // namespace

int test_secrets() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(each_secret_is_taken_and_put_back),
      cmocka_unit_test(no_form_of_a_text_hides_a_secret),
      cmocka_unit_test(a_secret_that_nobody_knows_is_left_out),
      cmocka_unit_test(a_configuration_without_sections_has_none),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
