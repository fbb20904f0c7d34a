// XML from anywhere: what is understood is right, the rest is Code::corrupt.
#include "core/cloud/xml.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"

namespace {

using namespace det;
using namespace det::cloud;

void elements_are_read(void **) {
  const XmlDocument answer(
      "\xEF\xBB\xBF<?xml version='1.0'?>\n<List xmlns='urn:s'><Size>18446744073709551615</Size>"
      "<Key>a&amp;b&#13;&lt;</Key><Space> </Space><Empty/></List>",
      "List", "a list");
  assert_equal(answer.number(answer.root(), "Size"), UINT64_MAX);
  assert_equal(answer.text(answer.root(), "Key"), "a&b\r<");
  assert_equal(answer.text(answer.root(), "Space"), " ");
  assert_equal(answer.text(answer.root(), "Empty"), "");
}

void damage_is_told(void **) {
  for (const char *text : {"", "no XML", "<List>", "<List><Size>1</List>", "<Other/>", "<List/",
                           "<html></html>", "<!DOCTYPE l [<!ENTITY e 'eeee'>]><List>&e;</List>"}) {
    const std::string message =
        expect_error(Code::corrupt, [&] { XmlDocument(text, "List", "a list"); });
    assert_true(message.starts_with("a list is damaged: "));
  }
  const XmlDocument answer("<List><Size>1x</Size><Below>-1</Below><None/></List>", "List",
                           "a list");
  for (const char *child : {"Size", "Below", "None", "Absent"})
    expect_error(Code::corrupt, [&] { answer.number(answer.root(), child); });
  expect_error(Code::corrupt, [&] { answer.text(answer.root(), "Absent"); });
}

void errors_are_found_where_there_are_some(void **) {
  assert_equal(xml_text_at("<Error><Code>SlowDown</Code></Error>", "Error", "Code"), "SlowDown");
  for (const char *text :
       {"", "busy", "<html><body>502</body></html>", "<Error/>", "<Error><Code>"})
    assert_equal(xml_text_at(text, "Error", "Code"), "");
}

void what_is_written_is_read_again(void **) {
  const std::string key = "a <b> & \"c\"\r\n\t\xC3\xA9";
  assert_true(fits_xml(key));
  const XmlDocument answer("<Delete><Key>" + xml_escaped(key) + "</Key></Delete>", "Delete",
                           "a call");
  assert_equal(answer.text(answer.root(), "Key"), key);
}

void what_xml_cannot_say_is_known(void **) {
  for (const char *text : {"\x01", "a\x1F", "\xFF", "\xEF\xBF\xBF"}) assert_false(fits_xml(text));
  assert_true(fits_xml(""));
}

}  // namespace

int test_xml() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(elements_are_read),
      cmocka_unit_test(damage_is_told),
      cmocka_unit_test(errors_are_found_where_there_are_some),
      cmocka_unit_test(what_is_written_is_read_again),
      cmocka_unit_test(what_xml_cannot_say_is_known),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
