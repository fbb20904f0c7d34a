// YAML 1.1 as the original reads it, and texts that are meant to do harm.
#include "core/config/experiment/yaml.h"

#include "tests/expect_error.h"

namespace det::config {

namespace {

std::string json_of(const std::string &text) { return read_yaml(text).value.dump(); }

std::string refusal(const std::string &text) {
  return expect_error(Code::invalid, [&] { read_yaml(text); });
}

int line_refused(const std::string &text) {
  try {
    read_yaml(text);
  } catch (const YamlError &e) {
    return e.line;
  }
  return -1;
}

void expect_scalars(const std::vector<std::pair<const char *, const char *>> &scalars) {
  for (const auto &[yaml, json] : scalars) assert_string_equal(json_of(yaml).c_str(), json);
}

void unquoted_words_are_truths_and_nulls(void **) {
  expect_scalars({{"y", "true"},
                  {"N", "false"},
                  {"Yes", "true"},
                  {"NO", "false"},
                  {"on", "true"},
                  {"Off", "false"},
                  {"TRUE", "true"},
                  {"false", "false"},
                  {"yES", "\"yES\""},
                  {"'on'", "\"on\""},
                  {"~", "null"},
                  {"Null", "null"},
                  {"nULL", "\"nULL\""},
                  {"''", "\"\""},
                  {"a: ", R"({"a":null})"}});
}

void json_may_escape_any_character(void **) {
  expect_scalars({{R"({"a":"\ud83d\ude00 \u00e9"})", "{\"a\":\"\xf0\x9f\x98\x80 \xc3\xa9\"}"},
                  {R"({"a":"\\ud83d\\ude00"})", R"({"a":"\\ud83d\\ude00"})"}});
  assert_true(contains(refusal(R"({"a":"\ud83d"})"), "no Unicode character"));
}

void numbers_are_integers_of_any_base_and_doubles(void **) {
  expect_scalars({{"0", "0"},
                  {"-0", "0"},
                  {"017", "15"},
                  {"0o17", "15"},
                  {"0x1F", "31"},
                  {"-0x1F", "-31"},
                  {"0b11", "3"},
                  {"+5", "5"},
                  {"1_000", "1000"},
                  {"08", "8"},
                  {"10.0", "10"},
                  {"1e1", "10"},
                  {".5", "0.5"},
                  {"1.", "1"},
                  {"-1.5e-3", "-0.0015"},
                  {"9007199254740993", "9007199254740992"},
                  {"1e-400", "0"}});
}

void what_only_looks_like_a_number_is_text(void **) {
  for (const char *text : {"0o8", "0xZ", "1e400", "1:30", "2020-01-01", "+-5", "-+5", "1.2.3", "+",
                           ".", "0x", "1e", "0x1p3", "_1", "inf", "nan"})
    assert_string_equal(json_of(text).c_str(), ("\"" + std::string(text) + "\"").c_str());
}

void not_finite_numbers_are_refused(void **) {
  for (const char *text : {".nan", ".inf", "-.INF", "+.Inf"})
    assert_true(contains(refusal(text), text));
}

void tags_decide_over_quotes(void **) {
  expect_scalars({{"!!str 5", "\"5\""},
                  {"!!int '5'", "5"},
                  {"!!float 5", "5"},
                  {"!!bool 'no'", "false"},
                  {"!!null ''", "null"},
                  {"!!timestamp 2020-01-01", "\"2020-01-01\""},
                  {"!!seq 5", "\"5\""},
                  {"!mine 5", "\"5\""}});
  for (const char *text :
       {"!!int x", "!!int 5.5", "a: !!int", "!!bool 5", "!!null x", "!!float on"})
    assert_true(contains(refusal(text), "tag !!"));
}

void binary_is_base64(void **) {
  expect_scalars({{"!!binary aGVsbG8=", "\"hello\""},
                  {"!!binary 'aGVsbG8h'", "\"hello!\""},
                  {"!!binary aGk=", "\"hi\""},
                  {"!!binary aA==", "\"h\""},
                  {"a: !!binary", R"({"a":""})"},
                  {"!!binary |\n  aGVs\n  bG8=\n", "\"hello\""},
                  {"{!!binary YQ==: 1}", R"({"a":1})"},
                  {"!!binary /w==", "\"\xef\xbf\xbd\""}});
  for (const char *text :
       {"!!binary a", "!!binary aGVsbG8", "!!binary a===", "!!binary ====", "!!binary aG=k",
        "!!binary aG!=", "!!binary |\n  aGVs bG8=\n", "!!binary _w=="})
    assert_true(contains(refusal(text), "!!binary"));
}

std::string warnings_of(const std::string &text) {
  std::string all;
  for (const YamlWarning &warning : read_yaml(text).warnings)
    all += std::to_string(warning.line) + " " + warning.path + " " + warning.kind + " " +
           warning.key + "\n";
  return all;
}

void keys_that_mean_something_else_are_warned_of(void **) {
  assert_string_equal(warnings_of("h:\n  y: 1\n  n:\n  - {No: 2}\n  - x\n  - {off: 3}\n").c_str(),
                      "2 .h boolean_key true\n"
                      "3 .h boolean_key false\n"
                      "4 .h.false[0] boolean_key false\n"
                      "6 .h.false[2] boolean_key false\n");
  assert_string_equal(warnings_of("'y': no\ntrue: on\nx: [yes, off]\n").c_str(), "");
  assert_string_equal(warnings_of("a: {<<: {n: 1}}\n").c_str(), "1 .a.<< boolean_key false\n");
  assert_string_equal(warnings_of("a: 1\nb: {c: 1,\n d: 2, c: 3}\na: 2\n").c_str(),
                      "3 .b repeated_key c\n4  repeated_key a\n");
  assert_string_equal(warnings_of("a: &x {k: 1}\nb: {<<: *x, k: 2}\nc: {<<: [*x, *x]}\n").c_str(),
                      "");
  assert_true(contains(read_yaml("a: 1\na: 2\n").warnings.at(0).message, "line 1"));
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "n: 1\n";
  assert_int_equal(read_yaml(many).warnings.size(), yaml_max_warnings);
}

void letters_that_are_truths_are_warned_of(void **) {
  assert_string_equal(warnings_of("h:\n  flag: n\n  vals:\n  - a\n  - [x, Y]\n  - 'y'\n").c_str(),
                      "2 .h.flag boolean_value \n5 .h.vals[1][1] boolean_value \n");
  assert_true(contains(read_yaml("a: n\n").warnings.at(0).message,
                       "the value 'n' is read as false, as YAML has it; to have that text"));
}

void what_is_no_text_is_told_by_its_name(void **) {
  assert_true(contains(refusal(std::string("a\0:\0 \0"
                                           "1\0",
                                           8)),
                       "UTF-16"));
  assert_true(contains(refusal(std::string("\0a\0:\0 \0"
                                           "1",
                                           8)),
                       "UTF-16"));
  assert_true(contains(refusal(std::string("\xff\xfe"
                                           "a\0",
                                           4)),
                       "UTF-16"));
  assert_true(contains(refusal(std::string("\xfe\xff\0a", 4)), "UTF-16"));
  assert_true(contains(refusal(std::string("a: 1\nb: x\0y\n", 12)), "NUL"));
  assert_int_equal(line_refused(std::string("a: 1\nb: x\0y\n", 12)), 2);
  for (const char *text : {"a:\n\tb: 1\n", "a:\n  b: 1\n\tc: 2\n", "a:\n \t- 1\n", "\ta: 1\n"})
    assert_true(contains(refusal(text), "tab"));
  assert_string_equal(json_of("a: {b: 1,\n\tc: 2}\n").c_str(), R"({"a":{"b":1,"c":2}})");
  assert_false(contains(refusal("a: b: c\n\t\n"), "tab"));
}

void keys_become_texts(void **) {
  assert_string_equal(json_of("{n: 1, 1: 2, 2.5: 3, 'n': 4, 0x10: 5}").c_str(),
                      R"({"false":1,"1":2,"2.5":3,"n":4,"16":5})");
  for (const char *text : {"{~: 1}", "{[a]: 1}", "{{a: 1}: 1}", "? \n: 1\n"})
    assert_true(contains(refusal(text), "key"));
}

void the_last_of_equal_keys_wins(void **) {
  assert_string_equal(json_of("a: 1\nb: 2\na: 3\n").c_str(), R"({"a":3,"b":2})");
  assert_int_equal(read_yaml("a: 1\nb: 2\na: 3\n").place.children.at(0).line, 3);
}

void merge_keys_fill_what_is_not_there(void **) {
  assert_string_equal(json_of("{<<: {a: 1, b: 2}, a: 3}").c_str(), R"({"a":3,"b":2})");
  assert_string_equal(json_of("{a: 3, <<: [{b: 1}, {b: 2, c: 4}]}").c_str(),
                      R"({"a":3,"b":1,"c":4})");
  assert_string_equal(json_of("{'<<': 1}").c_str(), R"({"<<":1})");
  assert_true(contains(refusal("{<<: 1}"), "merge key"));
  assert_true(contains(refusal("{<<: [1]}"), "merge key"));
}

void aliases_stand_for_what_they_name(void **) {
  assert_string_equal(json_of("{a: &x {k: [1]}, b: *x, c: *x}").c_str(),
                      R"({"a":{"k":[1]},"b":{"k":[1]},"c":{"k":[1]}})");
  assert_string_equal(json_of("{&x k: 1, b: *x}").c_str(), R"({"k":1,"b":"k"})");
  assert_true(contains(refusal("a: *x\n"), "anchor"));
  assert_true(contains(refusal("a: &x [*x]\n"), "alias"));
}

void only_the_first_document_is_read(void **) {
  assert_string_equal(json_of("a: 1\n---\nb: [\n").c_str(), R"({"a":1})");
  for (const char *text : {"", "# nothing\n", "---\n---\na: 1\n", "\n\n"})
    assert_string_equal(json_of(text).c_str(), "null");
}

void another_document_is_warned_of(void **) {
  const std::pair<const char *, const char *> texts[] = {
      {"a: 1\n...\n---\nb: 2\n", "3  another_document \n"},
      {"a: 1\n\n---\nb: 2\n", "3  another_document \n"},
      {"a: 1\n...\nb: 2\n", "3  another_document \n"},
      {"a: 1\n...\n", ""},
      {"a: 1\n...\n# the end\n", ""}};
  for (const auto &[text, warnings] : texts) {
    assert_string_equal(json_of(text).c_str(), R"({"a":1})");
    assert_string_equal(warnings_of(text).c_str(), warnings);
  }
}

void text_behind_the_document_is_refused(void **) {
  assert_int_equal(line_refused(" a: 1\nb: 2\n"), 2);
  assert_int_equal(line_refused("{a: 1}\nb\n"), 2);
  assert_true(contains(refusal(" a: 1\nb: 2\n"), "indentation"));
}

std::string told(const std::string &text) {
  try {
    return "accepted: " + json_of(text);
  } catch (const YamlError &e) {
    return describe(e);
  }
}

void a_slip_is_told_with_its_line_and_column(void **) {
  const std::pair<const char *, const char *> slips[] = {
      {"a: 1\nh:\n  lr: 0.1\n  batch_size 32\n",
       "line 4, column 3: 'batch_size 32' is no key without a ':' behind it; write KEY: VALUE"},
      {"a: 1\nmax_restarts", "line 2, column 1: 'max_restarts' is no key without a ':'"},
      {"a: 1\nb 2 # two\nc: 3\n", "line 2, column 1: 'b 2' is no key without a ':'"},
      {"a: \"never closed\nb: 1\nc: {d: 2}\n", "line 1, column 4: the quote that begins here"},
      {"a: 'it''s\n", "line 1, column 4: the quote that begins here is never closed"},
      {"a: 'x\n---\nb: 1\n", "line 1, column 4: the quote that begins here is not closed"},
      {"a: b: c\n", "line 1, column 5: a ':' cannot stand here; check the indentation"},
      {"a: 1\n  b: 2\n", "line 2, column 4: a ':' cannot stand here"},
      {"a: - 1\n", "line 1, column 4: a list cannot begin here"},
      {"a: *.py\n", "line 1, column 4: '*.py' must be in quotes: without them its * is an alias"},
      {"a: *py\n", "line 1, column 4: no anchor (&py) is above the alias *py"},
      {"a: & b\n", "line 1, column 4: '& b' must be in quotes"},
      {"a: @home\n", "line 1, column 4: '@home' must be in quotes: no value begins with"},
      {"a: `date`\n", "line 1, column 4: '`date`' must be in quotes"},
      {"a: %d\n", "line 1, column 4: '%d' must be in quotes"},
      {"a: !x!y z\n", "line 1, column 4: '!x!y z' must be in quotes"},
      {"a: |x\n  b\n", "line 1, column 4: '|x' must be in quotes"},
      {"a: \"C:\\dir\"\n", "line 1, column 7: this escape is unknown"},
      {"a: \"\\xZZ\"\n", "line 1, column 7: \\x, \\u and \\U are followed by"},
      {"a: [1, 2\nb: 3\n",
       "line 2, column 2: the list that begins in line 1, column 4 needs a ','"},
      {"a: {b: 1\nc: [2\n", "the object that begins in line 1, column 4 needs a ',' or '}' here"},
      {"a: [1,\n", "line 2, column 1: a value, or the ']' or '}' of what is open, is missing here"},
      {"a: ]\n", "line 1, column 4: there is no value here"},
      {"a: \"b\" c\n", "line 1, column 8: this is no key of the object that begins in line 1"},
      {"a:\n  - 1\n  b: 2\n", "line 3, column 3: this is no entry of the list that begins in"},
      {" a: 1\nb: 2\n", "line 2, column 1: this does not continue the line above it"},
      {"a:\n\tb: 1\n", "line 2, column 1: this line is indented with a tab"},
      {"a: !!int x\n", "line 1, column 4: 'x' is not what its tag !!int says"},
      {"a: {~: 1}\n", "line 1, column 5: a key must not be null"},
      {"\xc3\xa4: *.py\n", "line 1, column 4: '*.py' must be"},
  };
  for (const auto &[text, expected] : slips)
    if (!contains(told(text), expected)) fail_msg("%s: %s", text, told(text).c_str());
}

void errors_have_their_lines(void **) {
  assert_int_equal(line_refused("a: 1\nb: [1, 2\nc: }\n"), 3);
  assert_int_equal(line_refused("a: 1\nb:\n\t- c\n"), 3);
  assert_int_equal(line_refused("a: 1\nb: .nan\n"), 2);
  assert_int_equal(line_refused("a: 1\nb: \x01\n"), 2);
}

void places_are_those_of_the_keys(void **) {
  const YamlDocument document = read_yaml("a: 1\nb:\n  c:\n  - 1\n  - d: 2\n");
  const YamlPlace &b = document.place.children.at(1);
  assert_int_equal(document.place.line, 1);
  assert_int_equal(b.line, 2);
  assert_int_equal(b.children.at(0).line, 3);
  assert_int_equal(b.children.at(0).children.at(1).line, 5);
}

void texts_of_any_size_and_bytes_are_refused(void **) {
  assert_true(contains(refusal(std::string(10 << 20, 'a')), "at most"));
  assert_true(contains(refusal(std::string(yaml_max_size + 1, '[')), "at most"));
  assert_true(contains(refusal("a: \xff\xfe"), "UTF-8"));
  assert_true(contains(refusal(std::string("a: \x01", 4)), "control character"));
}

void nesting_has_an_end(void **) {
  const auto nested = [](size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  assert_int_equal(json_of(nested(yaml_max_depth)).size(), 2 * yaml_max_depth);
  assert_true(contains(refusal(nested(yaml_max_depth + 1)), "deeper"));
  for (const char *open : {"[", "{", "- ", "? ", "{a: "}) {
    std::string text;
    while (text.size() < 100000) text += open;
    refusal(text);
  }
  std::string block;
  for (size_t i = 0; i < 300; ++i) block += std::string(i, ' ') + "a:\n";
  assert_true(contains(refusal(block), "nested"));
}

// Each level as often as the one before has entries.
std::string bomb(size_t levels, size_t width) {
  std::string text = "a0: &a0 x\n";
  for (size_t i = 1; i < levels; ++i) {
    const std::string number = std::to_string(i);
    text += "a" + number + ": &a" + number + " [";
    for (size_t j = 0; j < width; ++j) text += "*a" + std::to_string(i - 1) + ", ";
    text += "]\n";
  }
  return text;
}

void aliases_do_not_expand_without_end(void **) {
  assert_true(contains(refusal(bomb(30, 10)), "values"));
  assert_true(contains(refusal(bomb(3, 40000)), "values"));
  // Deep by aliases, though not as written.
  assert_true(contains(refusal(bomb(yaml_max_depth + 5, 1)), "deeper"));
  // Long texts count as many values.
  std::string wide = "- &a " + std::string(100000, 'x') + "\n";
  for (int i = 0; i < 1000; ++i) wide += "- *a\n";
  assert_true(contains(refusal(wide), "values"));
  std::string merges = "- &a {k: 1}\n- {";
  for (int i = 0; i < 100; ++i) merges += "<<: *a, ";
  assert_string_equal(json_of(merges + "}").c_str(), R"([{"k":1},{"k":1}])");
}

void many_keys_take_linear_time(void **) {
  std::string text;
  for (int i = 0; i < 60000; ++i) text += "k" + std::to_string(i) + ": 1\n";
  assert_int_equal(read_yaml(text).value.size(), 60000);
}

}  // namespace

}  // namespace det::config

int test_yaml() {
  using namespace det::config;
  const CMUnitTest tests[] = {
      cmocka_unit_test(unquoted_words_are_truths_and_nulls),
      cmocka_unit_test(numbers_are_integers_of_any_base_and_doubles),
      cmocka_unit_test(what_only_looks_like_a_number_is_text),
      cmocka_unit_test(not_finite_numbers_are_refused),
      cmocka_unit_test(tags_decide_over_quotes),
      cmocka_unit_test(binary_is_base64),
      cmocka_unit_test(keys_that_mean_something_else_are_warned_of),
      cmocka_unit_test(letters_that_are_truths_are_warned_of),
      cmocka_unit_test(what_is_no_text_is_told_by_its_name),
      cmocka_unit_test(keys_become_texts),
      cmocka_unit_test(the_last_of_equal_keys_wins),
      cmocka_unit_test(merge_keys_fill_what_is_not_there),
      cmocka_unit_test(aliases_stand_for_what_they_name),
      cmocka_unit_test(only_the_first_document_is_read),
      cmocka_unit_test(another_document_is_warned_of),
      cmocka_unit_test(text_behind_the_document_is_refused),
      cmocka_unit_test(a_slip_is_told_with_its_line_and_column),
      cmocka_unit_test(errors_have_their_lines),
      cmocka_unit_test(places_are_those_of_the_keys),
      cmocka_unit_test(texts_of_any_size_and_bytes_are_refused),
      cmocka_unit_test(json_may_escape_any_character),
      cmocka_unit_test(nesting_has_an_end),
      cmocka_unit_test(aliases_do_not_expand_without_end),
      cmocka_unit_test(many_keys_take_linear_time),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
