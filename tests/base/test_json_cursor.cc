// JSON text that is read in place: the same values as of the parser, and no step behind the end.
#include "core/base/json_cursor.h"

#include <string>
#include <vector>

#include "core/base/json.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"

namespace {

using namespace det;

// All of the value that is next, made of its parts.
Json read_through(JsonCursor &cursor) {
  if (!cursor.at_object()) return cursor.value();
  Json value = Json::object();
  cursor.enter_object();
  for (std::string_view name; cursor.next_member(name);) {
    const std::string key(name);
    value[key] = read_through(cursor);
  }
  return value;
}

Json read_through(std::string_view text) {
  JsonCursor cursor(text, "a test");
  return read_through(cursor);
}

void values_are_those_of_the_parser(void **) {
  for (const char *text :
       {"0",
        "-0",
        "7",
        "-7",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775808",
        "-9223372036854775809",
        "0.5",
        "-0.0",
        "1e5",
        "1E-5",
        "2.2250738585072014e-308",
        "1e-400",
        "5e-324",
        "0.1",
        "true",
        "false",
        "null",
        "\"\"",
        "\"text\"",
        "\"a\\\"b\\\\\"",
        "\"\\u00e9\\n\"",
        "\"gr\xc3\xb6\xc3\x9f\x65\"",
        "[]",
        "{}",
        "[1,[2,\"]\"],{\"}\":3}]",
        " { \"a\" : [ 1 , 2 ] , \"b\\n\" : { \"c\" : \"\\\\\" } , \"\" : null } "}) {
    const Json parsed = parse_json(text, "a test"), read = read_through(text);
    assert_string_equal(read.dump().c_str(), parsed.dump().c_str());
    assert_true(read.type() == parsed.type());
  }
}

void what_is_not_wanted_is_stepped_over(void **) {
  JsonCursor cursor(R"({"list":[{"a":"]}\""},[[]],1.5,"x"],"next":12})", "a test");
  std::string_view name;
  cursor.enter_object();
  assert_true(cursor.next_member(name) && name == "list");
  cursor.enter_list();
  std::vector<std::string> texts;
  while (cursor.next_element()) texts.emplace_back(cursor.text());
  assert_true(texts == std::vector<std::string>({R"({"a":"]}\""})", "[[]]", "1.5", "\"x\""}));
  assert_true(cursor.next_member(name) && name == "next");
  assert_true(cursor.value() == 12);
  assert_false(cursor.next_member(name));
}

void a_text_that_is_cut_is_refused_by_name(void **) {
  const std::string text = R"({"a":{"b":[1,"\"x"],"c":"y"},"d":{"e":1.5}})";
  for (size_t size = 0; size < text.size(); ++size) {
    const std::string message =
        expect_error(Code::invalid, [&] { read_through(std::string_view(text).substr(0, size)); });
    assert_true(contains(message, "reading a test: not valid JSON"));
  }
}

void other_values_than_those_asked_for_are_refused(void **) {
  for (const char *text : {"{", "1", "\"{\"", "]", ","})
    expect_error(Code::invalid, [&] { JsonCursor(text, "a test").enter_list(); });
  for (const char *text : {"{1:2}", "{\"a\" 2}", "{\"a\":}", "{\"a\":nonsense}", "{\"a\":1e999}"})
    expect_error(Code::invalid, [&] { read_through(text); });
}

}  // namespace

int test_json_cursor() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(values_are_those_of_the_parser),
      cmocka_unit_test(what_is_not_wanted_is_stepped_over),
      cmocka_unit_test(a_text_that_is_cut_is_refused_by_name),
      cmocka_unit_test(other_values_than_those_asked_for_are_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
