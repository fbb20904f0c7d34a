#include "core/config/master_url.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"

namespace {

using namespace det;
using namespace det::config;

void expect_url(const std::string &text, const std::string &url) {
  assert_string_equal(canonical_master_url(text, "master").c_str(), url.c_str());
  assert_string_equal(canonical_master_url(url, "master").c_str(), url.c_str());
}

std::string refusal_of(const std::string &text) {
  return expect_error(Code::invalid, [&] { canonical_master_url(text, "the variable X"); });
}

void port_follows_from_the_scheme(void **) {
  expect_url("host", "http://host:8080");
  expect_url("http://host", "http://host:80");
  expect_url("https://h", "https://h:443");
  expect_url("http://host:99", "http://host:99");
  expect_url("https://host:080", "https://host:80");
  expect_url("host:", "http://host:8080");
  expect_url("http://host:0", "http://host:80");
}

void scheme_and_host_are_in_lower_case(void **) {
  expect_url("HOST:99", "http://host:99");
  expect_url("HTTP://Host", "http://host:80");
  expect_url("hTTps://Host/Path", "https://host:443/Path");
}

void path_is_kept_without_its_last_slashes(void **) {
  expect_url("host/path", "http://host:8080/path");
  expect_url("http://host:99/a/b/", "http://host:99/a/b");
  expect_url("http://host/", "http://host:80");
  expect_url("http://host/a://b@c:1//", "http://host:80/a://b@c:1");
}

void empty_user_query_and_fragment_are_dropped(void **) {
  expect_url("http://@host", "http://host:80");
  expect_url("http://host?", "http://host:80");
  expect_url("http://host/a/#", "http://host:80/a");
}

void ipv6_addresses_keep_their_brackets(void **) {
  expect_url("http://[::1]:8080", "http://[::1]:8080");
  expect_url("[FE80::A]", "http://[fe80::a]:8080");
  expect_url("https://[0:0:0:0:0:0:0:1]/p", "https://[::1]:443/p");
  expect_url("http://[fe80::1%25eth0]:1", "http://[fe80::1%25eth0]:1");
}

void text_that_names_no_master_is_refused(void **) {
  for (const char *text :
       {"", "http://", "http://:8080", ":8080", "/path", "ftp://h", "file:///x", "http://a b",
        "http://h:port", "http://h:-1", "http://h:65536", "http://h:8080x", "::1", "http://[::1",
        "http://[host]:1", "http://[::1]1", "http://h/a b", "http://h\n", "http://h/\x7F"})
    assert_true(contains(refusal_of(text), "the variable X"));
}

void secrets_are_refused_and_not_repeated(void **) {
  for (const char *text : {"http://user:hunter2@h", "http://hunter2@h", "http://h?token=hunter2",
                           "http://h?hunter2", "http://h#hunter2", "hunter2@h:1"})
    assert_false(contains(refusal_of(text), "hunter2"));
}

}  // namespace

int test_master_url() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(port_follows_from_the_scheme),
      cmocka_unit_test(scheme_and_host_are_in_lower_case),
      cmocka_unit_test(path_is_kept_without_its_last_slashes),
      cmocka_unit_test(empty_user_query_and_fragment_are_dropped),
      cmocka_unit_test(ipv6_addresses_keep_their_brackets),
      cmocka_unit_test(text_that_names_no_master_is_refused),
      cmocka_unit_test(secrets_are_refused_and_not_repeated),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
