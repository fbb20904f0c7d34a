// What goes to the terminal: text made safe, cut and aligned.
#include <clocale>
#include <string>

#include "tests/cmocka.h"
#include "wrappers/cli/fields.h"
#include "wrappers/cli/table.h"

using namespace det::cli;

namespace {

Terminal utf8_terminal() {
  Terminal out;
  out.utf8 = true;
  return out;
}

void printable_keeps_text_of_any_language(void **) {
  for (const char *text : {"", "loss", "größe", "損失", "😀", "a b~"}) {
    assert_string_equal(printable(text).c_str(), text);
  }
}

void printable_escapes_what_steers_a_terminal(void **) {
  const struct {
    std::string text;
    const char *expected;
  } cases[] = {
      {"\x1b[31m", "\\x1b[31m"},       {std::string("\0", 1), "\\x00"}, {"\x7f", "\\x7f"},
      {"a\nb\tc\r", "a\\nb\\tc\\x0d"}, {"\xc2\x9b", "\\u009b"},         {"\u202e", "\\u202e"},
      {"\u2066", "\\u2066"},           {"\u2028", "\\u2028"},
  };
  for (const auto &[text, expected] : cases) {
    assert_string_equal(printable(text).c_str(), expected);
  }
}

void printable_escapes_bytes_that_are_not_utf8(void **) {
  const struct {
    const char *text, *expected;
  } cases[] = {
      {"\xff", "\\xff"},
      {"a\x80z", "a\\x80z"},
      {"\xc3", "\\xc3"},                             // cut off
      {"\xc0\xaf", "\\xc0\\xaf"},                    // longer than needed
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // a surrogate
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // beyond Unicode
      {"\xc3\x28", "\\xc3("},
  };
  for (const auto &[text, expected] : cases) {
    assert_string_equal(printable(text).c_str(), expected);
  }
}

void width_counts_columns_and_not_bytes(void **) {
  assert_int_equal(display_width("loss"), 4);
  assert_int_equal(display_width("größe"), 5);
  assert_int_equal(display_width("損失"), 4);
  assert_int_equal(display_width("e\u0301"), 1);
}

void shortened_cuts_at_columns_and_says_so(void **) {
  const Terminal terminal = utf8_terminal();
  assert_string_equal(shortened("loss", 4, terminal).c_str(), "loss");
  assert_string_equal(shortened("losses", 4, terminal).c_str(), "los…");
  assert_string_equal(shortened("損失損失", 4, terminal).c_str(), "損…");
  assert_string_equal(shortened("losses", 4, Terminal()).c_str(), "los~");
}

void colours_need_a_terminal_that_shows_them(void **) {
  Terminal terminal;
  assert_string_equal(painted(terminal, Colour::red, "x").c_str(), "x");
  terminal.colour = true;
  assert_string_equal(painted(terminal, Colour::red, "x").c_str(), "\x1b[31mx\x1b[0m");
}

void values_read_as_people_write_them(void **) {
  assert_string_equal(percent_of(0.999).c_str(), "99%");
  assert_string_equal(percent_of(1).c_str(), "100%");
  assert_string_equal(percent_of(nullptr).c_str(), "-");
  assert_string_equal(bytes_of(1023).c_str(), "1023 B");
  assert_string_equal(bytes_of(1536).c_str(), "1.5 KiB");
  assert_string_equal(number_of(0.123456789).c_str(), "0.123457");
  assert_string_equal(number_of("NaN").c_str(), "NaN");
  assert_string_equal(number_of(123456789).c_str(), "123456789");
  assert_string_equal(clock_of("2026-01-31T12:00:00.000001+00:00").c_str(), "2026-01-31 12:00:00");
  assert_string_equal(age_of("1970-01-01T00:00:00.000000+00:00").c_str() + 5, "d");
  assert_string_equal(age_of("yesterday").c_str(), "-");
}

}  // namespace

int main() {
  std::setlocale(LC_CTYPE, "C.UTF-8");
  const CMUnitTest tests[] = {
      cmocka_unit_test(printable_keeps_text_of_any_language),
      cmocka_unit_test(printable_escapes_what_steers_a_terminal),
      cmocka_unit_test(printable_escapes_bytes_that_are_not_utf8),
      cmocka_unit_test(width_counts_columns_and_not_bytes),
      cmocka_unit_test(shortened_cuts_at_columns_and_says_so),
      cmocka_unit_test(colours_need_a_terminal_that_shows_them),
      cmocka_unit_test(values_read_as_people_write_them),
  };
  return cmocka_run_group_tests_name("table", tests, nullptr, nullptr);
}
