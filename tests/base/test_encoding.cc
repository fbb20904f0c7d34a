// Bytes as text: base64 and percent-encoding.
#include "core/base/text/base64.h"
#include "core/base/text/percent.h"
#include "tests/cmocka.h"

namespace {

using namespace det;

void base64_is_that_of_the_standard(void **) {
  const std::pair<const char *, const char *> table[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"foobar", "Zm9vYmFy"},
                                                         {"\xff\xfe\xfd", "//79"}};
  for (const auto &[bytes, text] : table) {
    assert_equal(to_base64(bytes), std::string(text));
    assert_equal(from_base64(text).value_or("none"), std::string(bytes));
  }
  assert_equal(from_base64("Zm9v\r\nYmFy\n").value_or("none"), std::string("foobar"));
  for (const char *text : {"Zg", "Zg=", "Z===", "Zg=A", "Zm9v!", "Zm-v"})
    assert_false(from_base64(text).has_value());
}

void text_in_urls_is_percent_encoded(void **) {
  assert_equal(percent_encoded("a/b c%?#\xc3\xa9~"), std::string("a%2Fb%20c%25%3F%23%C3%A9~"));
  assert_equal(percent_encoded("a/b+", "/"), std::string("a/b%2B"));
  assert_equal(percent_decoded("a%2fb%20%C3%A9"), std::string("a/b \xc3\xa9"));
  assert_equal(percent_decoded("100%, %4 %zz%"), std::string("100%, %4 %zz%"));
}

}  // namespace

int test_encoding() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(base64_is_that_of_the_standard),
      cmocka_unit_test(text_in_urls_is_percent_encoded),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
