// What goes to the terminal: text made safe, cut and aligned.
#include <clocale>
#include <string>

#include "tests/cmocka.h"
#include "wrappers/cli/text/field_text.h"
#include "wrappers/cli/text/table.h"

using namespace det::cli;

namespace {

Terminal utf8_terminal() {
  Terminal out;
  out.utf8 = true;
  return out;
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

void shortened_inside_keeps_both_ends(void **) {
  const Terminal terminal = utf8_terminal();
  assert_string_equal(shortened_inside("node.loss", 9, terminal).c_str(), "node.loss");
  assert_string_equal(shortened_inside("node.gpu.loss", 9, terminal).c_str(), "nod….loss");
  assert_string_equal(shortened_inside("損失損失損失", 9, terminal).c_str(), "損…失損失");
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

void csv_keeps_spreadsheets_from_computing(void **) {
  const std::pair<const char *, const char *> cells[] = {{"=1+2", "'=1+2\n"},
                                                         {"+cmd", "'+cmd\n"},
                                                         {"-2+3", "'-2+3\n"},
                                                         {"@SUM(A1)", "'@SUM(A1)\n"},
                                                         {"\t=1", "'\t=1\n"},
                                                         {"=\"a\",b", "\"'=\"\"a\"\",b\"\n"},
                                                         {"-nan(A1)", "'-nan(A1)\n"},
                                                         // Numbers stay numbers.
                                                         {"-1.5", "-1.5\n"},
                                                         {"+2", "+2\n"},
                                                         {"-1e-05", "-1e-05\n"},
                                                         {"-Infinity", "-Infinity\n"},
                                                         {"1-2", "1-2\n"},
                                                         {"", "\n"}};
  for (const auto &[cell, line] : cells)
    assert_string_equal(csv_line({cell}, Terminal()).c_str(), line);
  assert_string_equal(csv_line({"", "a", ""}, Terminal()).c_str(), ",a,\n");
}

void csv_is_exact_in_a_file_and_printable_on_a_terminal(void **) {
  Terminal terminal;
  assert_string_equal(csv_line({"\x1b[31m", "\u202e"}, terminal).c_str(), "\x1b[31m,\u202e\n");
  terminal.interactive = true;
  assert_string_equal(csv_line({"\x1b[31m", "\u202e"}, terminal).c_str(), "\\x1b[31m,\\u202e\n");
}

void json_escapes_what_steers_a_terminal_and_reads_the_same(void **) {
  const Json value = {{"\u202ename", "\x7f\u009b\u2066"}, {"tag", "\U000e0041"}, {"word", "größe"}};
  const std::string line = json_line(value);
  assert_string_equal(line.c_str(),
                      "{\"\\u202ename\":\"\\u007f\\u009b\\u2066\",\"tag\":\"\\udb40\\udc41\","
                      "\"word\":\"größe\"}\n");
  assert_equal(Json::parse(line), value);
}

void json_text_becomes_the_line_of_its_value(void **) {
  for (const char *text :
       {R"({"group":"training","steps_completed":1129,"metrics":{"loss":0.4959708893842458}})",
        R"({"a":-0.0,"b":1e15,"c":[1E-7,2]})", R"( { "a b" : [ 1.50 , -7 ] , "c" : {} } )",
        R"({"big":12345678901234567890,"more":123456789012345678901234567890,"small":5e-324})",
        R"({"a\"1.50":"1.50 \u00e9","b":1.50})",
        "{\"gr\xc3\xb6\xc3\x9f\x65\":1.50,\"x\":\"\xe2\x80\xae\"}", "[1.5,\n\t2]", R"("1.50")",
        "1000000000000000.0", "[]", "true"}) {
    const auto value = det::cli::Json::parse(text);
    assert_string_equal(json_text_line(text).c_str(), json_line(value).c_str());
  }
}

void long_values_are_told_in_short(void **) {
  det::cli::Json names = det::cli::Json::array();
  for (int i = 0; i < 20'000; ++i) names.push_back("name" + std::to_string(i));
  const std::string brief = brief_of(names);
  assert_true(brief.starts_with(R"(["name0","name1",)"));
  assert_true(brief.ends_with(" more]") && brief.size() < 110);
  assert_string_equal(number_of(names).c_str(), brief.c_str());
  assert_string_equal(brief_of({1, 2.5, "x"}).c_str(), R"([1,2.5,"x"])");
  assert_string_equal(brief_of(0.123456789).c_str(), "0.123456789");
  const std::string text = brief_of(std::string(399, 'x') + "\u00e9" + std::string(1000, 'y'));
  assert_string_equal(text.c_str(), (std::string(399, 'x') + "... (1401 bytes)").c_str());
}

std::vector<std::string> table_lines(int width) {
  Terminal terminal = utf8_terminal();
  terminal.interactive = true;
  terminal.width = width;
  const std::string out = captured([&] {
    Table table(terminal, {{"ID", Align::right}, {"NAME"}, {"STATE"}, {"STEPS", Align::right}});
    table.add({"1", "an experiment with a long name", "COMPLETED", "1000"});
    table.add({"22", "short", "NO PROCESS", "5"});
    table.finish();
  });
  std::vector<std::string> lines;
  for (size_t at = 0; at < out.size(); at = out.find('\n', at) + 1)
    lines.push_back(out.substr(at, out.find('\n', at) - at));
  return lines;
}

void table_fits_a_narrow_terminal(void **) {
  assert_string_equal(table_lines(80)[1].c_str(),
                      " 1  an experiment with a long name  COMPLETED    1000");
  assert_string_equal(table_lines(40)[1].c_str(), " 1  an experiment wi…  COMPLETED    1000");
  assert_string_equal(table_lines(40)[2].c_str(), "22  short              NO PROCESS      5");
  assert_string_equal(table_lines(20)[1].c_str(), " 1  an expe…  COMPL…");
  for (const int width : {1, 2, 3, 10, 20, 31, 40, 60})
    for (const std::string &line : table_lines(width))
      assert_true(display_width(line) <= static_cast<size_t>(width));
}

}  // namespace

int test_table() {
  std::setlocale(LC_CTYPE, "C.UTF-8");
  const CMUnitTest tests[] = {
      cmocka_unit_test(width_counts_columns_and_not_bytes),
      cmocka_unit_test(shortened_cuts_at_columns_and_says_so),
      cmocka_unit_test(shortened_inside_keeps_both_ends),
      cmocka_unit_test(colours_need_a_terminal_that_shows_them),
      cmocka_unit_test(values_read_as_people_write_them),
      cmocka_unit_test(csv_keeps_spreadsheets_from_computing),
      cmocka_unit_test(csv_is_exact_in_a_file_and_printable_on_a_terminal),
      cmocka_unit_test(json_escapes_what_steers_a_terminal_and_reads_the_same),
      cmocka_unit_test(json_text_becomes_the_line_of_its_value),
      cmocka_unit_test(long_values_are_told_in_short),
      cmocka_unit_test(table_fits_a_narrow_terminal),
  };
  return cmocka_run_group_tests_name("table", tests, nullptr, nullptr);
}
