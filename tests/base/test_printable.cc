// Text that people see: nothing in it steers their terminal.
#include "core/base/text/printable.h"

#include <array>
#include <cstring>
#include <string>

#include "core/base/log/log.h"
#include "tests/cmocka.h"

namespace {

using namespace det;

void text_of_any_language_stays(void **) {
  for (const char *text : {"", "loss", "größe", "損失", "😀", "👩\u200d🔬", "a b~"})
    assert_string_equal(printable(text).c_str(), text);
}

void what_steers_a_terminal_is_escaped(void **) {
  const struct {
    std::string text;
    const char *expected;
  } cases[] = {
      {"\x1b[31m", "\\x1b[31m"},       {std::string("\0", 1), "\\x00"}, {"\x7f", "\\x7f"},
      {"a\nb\tc\r", "a\\nb\\tc\\x0d"}, {"\xc2\x9b", "\\u009b"},         {"\u202e", "\\u202e"},
      {"\u2066", "\\u2066"},           {"\u2028", "\\u2028"},           {"\u200b", "\\u200b"},
      {"\ufeff", "\\ufeff"},           {"\U000e0041", "\\U000e0041"},
  };
  for (const auto &[text, expected] : cases) assert_string_equal(printable(text).c_str(), expected);
}

void bytes_that_are_not_utf8_are_escaped(void **) {
  const std::pair<const char *, const char *> cases[] = {
      {"\xff", "\\xff"},
      {"a\x80z", "a\\x80z"},
      {"\xc3", "\\xc3"},                             // cut off
      {"\xc0\xaf", "\\xc0\\xaf"},                    // longer than needed
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // a surrogate
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // beyond Unicode
      {"\xc3\x28", "\\xc3("},
  };
  for (const auto &[text, expected] : cases) assert_string_equal(printable(text).c_str(), expected);
}

void a_copy_is_cut_between_characters(void **) {
  const std::pair<size_t, const char *> cases[] = {
      {1, ""}, {2, "a"}, {3, "a"}, {4, "aä"}, {7, "aä"}, {8, "aä\\x1b"}, {9, "aä\\x1bz"}};
  for (const auto &[size, expected] : cases) {
    std::array<char, 10> out;
    out.fill('#');
    copy_printable("aä\x1bz", out.data(), size);
    assert_string_equal(out.data(), expected);
    assert_int_equal(out[size], '#');
  }
  copy_printable("a", nullptr, 0);
}

void log_lines_are_printable(void **) {
  std::string written;
  Logger logger(LogLevel::debug, [&](LogLevel, const std::string &line) { written = line; });
  logger.error("no trial '\x1b]0;owned\x07\u202e'");
  assert_string_equal(written.c_str(), "no trial '\\x1b]0;owned\\x07\\u202e'");
}

}  // namespace

int test_printable() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(text_of_any_language_stays),
      cmocka_unit_test(what_steers_a_terminal_is_escaped),
      cmocka_unit_test(bytes_that_are_not_utf8_are_escaped),
      cmocka_unit_test(a_copy_is_cut_between_characters),
      cmocka_unit_test(log_lines_are_printable),
  };
  return cmocka_run_group_tests_name("printable", tests, nullptr, nullptr);
}
