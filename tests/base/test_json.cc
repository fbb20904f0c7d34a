#include <cmath>
#include <limits>

#include "core/base/json.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/failing_memory.h"

namespace {

using namespace det;

std::string invalid(const std::string &text) {
  return expect_error(Code::invalid, [&] { parse_json(text, "config_json"); });
}

std::string metadata(const char *text) { return to_metadata_text(parse_json(text, "metadata")); }

std::string number(double value) {
  std::string text;
  append_number(text, value);
  return text;
}

void metadata_text_has_its_known_bytes(void **) {
  assert_string_equal(metadata(R"({"steps_completed":1})").c_str(),
                      "{\n  \"steps_completed\": 1\n}");
  assert_string_equal(
      metadata(R"({"steps_completed": 1, "z": {"y": [1, 2]}})").c_str(),
      "{\n  \"steps_completed\": 1,\n  \"z\": {\n    \"y\": [\n      1,\n      2\n    ]\n  }\n}");
  assert_string_equal(metadata(R"({"a":{},"b":[],"c":[{}],"d":null,"e":true})").c_str(),
                      "{\n  \"a\": {},\n  \"b\": [],\n  \"c\": [\n    {}\n  ],\n  \"d\": null,\n"
                      "  \"e\": true\n}");
}

void metadata_text_keeps_the_order_of_keys(void **) {
  assert_string_equal(metadata(R"({"b":1,"a":2})").c_str(), "{\n  \"b\": 1,\n  \"a\": 2\n}");
}

void metadata_text_escapes_as_python_does(void **) {
  assert_string_equal(metadata("[\"\u00e9\u20ac\U0001f600\"]").c_str(),
                      "[\n  \"\\u00e9\\u20ac\\ud83d\\ude00\"\n]");
  assert_string_equal(metadata(R"(["\u001f\b\f\n\r\t\"\\/\u007f"])").c_str(),
                      "[\n  \"\\u001f\\b\\f\\n\\r\\t\\\"\\\\/\\u007f\"\n]");
  assert_string_equal(metadata("{\"\u00e9\":0}").c_str(), "{\n  \"\\u00e9\": 0\n}");
}

void metadata_text_replaces_what_is_not_utf8(void **) {
  assert_string_equal(to_metadata_text(Json("a\xff")).c_str(), "\"a\\ufffd\"");
}

void doubles_are_written_as_python_does(void **) {
  const std::pair<double, const char *> table[] = {
      {0, "0.0"},
      {-0.0, "-0.0"},
      {1, "1.0"},
      {0.1, "0.1"},
      {0.0001, "0.0001"},
      {0.00001, "1e-05"},
      {123456.789, "123456.789"},
      {1e15, "1000000000000000.0"},
      {9999999999999998.0, "9999999999999998.0"},
      {1e16, "1e+16"},
      {1.5e300, "1.5e+300"},
      {5e-324, "5e-324"},
      {-2.5e-7, "-2.5e-07"},
      {1.0 / 3, "0.3333333333333333"},
      {std::numeric_limits<double>::max(), "1.7976931348623157e+308"},
      {std::nan(""), "NaN"},
      {HUGE_VAL, "Infinity"},
      {-HUGE_VAL, "-Infinity"},
  };
  for (const auto &[value, text] : table) assert_string_equal(number(value).c_str(), text);
}

void integers_keep_64_bits(void **) {
  const char *text = "[\n  -9223372036854775808,\n  18446744073709551615\n]";
  assert_string_equal(metadata(text).c_str(), text);
}

void bare_non_finite_numbers_are_understood(void **) {
  const Json value = parse_json(R"([NaN, Infinity, -Infinity, {"a": NaN}])", "x");
  assert_true(std::isnan(value[0].get<double>()));
  assert_equal(value[1], HUGE_VAL);
  assert_equal(value[2], -HUGE_VAL);
  assert_true(std::isnan(value[3]["a"].get<double>()));
  assert_string_equal(to_metadata_text(value[1]).c_str(), "Infinity");
}

void texts_that_look_like_numbers_stay_texts(void **) {
  const Json value = parse_json(R"(["NaN", "a\"NaN", "\\", NaN, "\u0001NaN", "NaN\\"])", "x");
  assert_equal(value[0], "NaN");
  assert_equal(value[1], "a\"NaN");
  assert_equal(value[2], "\\");
  assert_true(value[3].is_number_float());
  assert_equal(value[4], "\x01NaN");
  assert_equal(value[5], "NaN\\");
}

void misplaced_non_finite_numbers_are_refused(void **) {
  for (const char *text : {"{NaN:1}", "{NaN : 1}", "{\"a\" NaN}", "[1NaN]", "[-NaN]", "[NaNNaN]",
                           "[--Infinity]", "[nan]", "[Inf]", "[+Infinity]"})
    invalid(text);
}

void text_that_is_no_json_is_refused_by_name_and_place(void **) {
  const std::string message = invalid("{\"a\": 1,}");
  assert_true(contains(message, "config_json") && contains(message, "column"));
  assert_false(contains(message, "\n"));
  for (const char *text :
       {"", " ", "{", "[1 2]", "'a'", "{\"a\"}", "nul", "1 1", "\"\xff\"", "1e999"})
    invalid(text);
}

void nesting_is_limited(void **) {
  parse_json(std::string(128, '[') + std::string(128, ']'), "x");
  assert_true(contains(invalid(std::string(129, '[') + std::string(129, ']')), "128"));
  assert_true(contains(invalid(std::string(1'000'000, '[')), "128"));
  parse_json("[\"" + std::string(1000, '[') + "\"]", "x");
  invalid(std::string(200, ']') + std::string(200, '['));
}

void objects_are_told_from_other_values(void **) {
  assert_int_equal(parse_json_object("{\"a\":1}", "x")["a"].get<int>(), 1);
  const auto message =
      expect_error(Code::invalid, [] { parse_json_object("[1]", "hparams_json"); });
  assert_true(contains(message, "hparams_json") && contains(message, "array"));
}

std::string object_of(int keys) {
  std::string text = "{";
  for (int i = 0; i < keys; ++i) text += "\"weights/" + std::to_string(i) + "\":1,";
  return text + "\"weights/3\":2,\"last\":3}";
}

void of_equal_keys_the_last_wins_where_the_first_stood(void **) {
  for (const int keys : {4, 31, 32, 33, 1000}) {
    const Json value = parse_json(object_of(keys), "x");
    assert_int_equal(value.size(), keys + 1);
    assert_int_equal(value["weights/3"].get<int>(), 2);
    assert_string_equal(std::next(value.begin(), 3).key().c_str(), "weights/3");
    assert_string_equal(std::next(value.begin(), keys).key().c_str(), "last");
    assert_equal(unpack(pack(value), "x"), value);
  }
}

// One comparison for each pair of them would take minutes.
void objects_may_have_many_keys(void **) {
  const Json value = parse_json(object_of(300'000), "x");
  assert_int_equal(value.size(), 300'001);
  assert_int_equal(unpack(pack(value), "x").size(), 300'001);
}

void packed_values_are_as_shallow_as_texts(void **) {
  const auto refused = [](const std::string &bytes) {
    return expect_error(Code::corrupt, [&] { unpack(bytes, "a message"); });
  };
  assert_true(contains(refused(std::string(100'000, '\x81') + '\0'), "128"));
  // Texts and bytes in pieces, which the library reads within each other without a limit.
  refused(std::string(3'000'000, '\x7f'));
  refused(std::string(3'000'000, '\x5f'));
  refused("\x81" + std::string(3'000'000, '\x7f'));
  refused("\xa1" + std::string(3'000'000, '\x7f'));
  refused(std::string(3'000'000, '\xc1'));
  refused(std::string(3'000'000, '\x9f'));
  // A length that no message has, before what is deep.
  refused("\x9b" + std::string(8, '\xff') + std::string(100'000, '\x81'));
  assert_true(contains(refused("\x81"), "a message"));
  assert_true(contains(refused(""), "a message"));
}

void wire_form_has_texts_for_non_finite_numbers(void **) {
  const Json value = parse_json(R"({"a":[NaN,Infinity],"b":{"c":-Infinity},"d":1.5})", "x");
  assert_string_equal(to_wire(value).c_str(),
                      R"({"a":["NaN","Infinity"],"b":{"c":"-Infinity"},"d":1.5})");
  assert_string_equal(to_wire(Json(HUGE_VAL)).c_str(), "\"Infinity\"");
  assert_string_equal(to_wire(Json("\xff\u00e9")).c_str(), "\"\ufffd\u00e9\"");
}

void a_comparison_with_a_text_needs_no_memory(void **) {
  const Json value = "the same", object = Json::object();
  test::allocations_to_fail = 1;
  const bool same = value == "the same" && !(value != "the same");
  const bool other = value != "another" && !(value == "another") && object != "the same";
  assert_int_equal(std::exchange(test::allocations_to_fail, 0), 1);
  assert_true(same && other);
}

void a_key_is_erased_as_a_whole_or_not_at_all(void **) {
  const Json all{{"first", 1}, {"a name that is long", "a"}, {"another long name", {1, 2}}};
  const Json rest{{"a name that is long", "a"}, {"another long name", {1, 2}}};
  test::with_each_allocation_failing([&] {
    Json object = all;
    try {
      erase_key(object, "first");
    } catch (const std::bad_alloc &) {
      assert_true(object == all);
      throw;
    }
    assert_true(object == rest);
    erase_key(object, "first");
    assert_true(object == rest);
  });
}

}  // namespace

int test_json() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(metadata_text_has_its_known_bytes),
      cmocka_unit_test(metadata_text_keeps_the_order_of_keys),
      cmocka_unit_test(metadata_text_escapes_as_python_does),
      cmocka_unit_test(metadata_text_replaces_what_is_not_utf8),
      cmocka_unit_test(doubles_are_written_as_python_does),
      cmocka_unit_test(integers_keep_64_bits),
      cmocka_unit_test(bare_non_finite_numbers_are_understood),
      cmocka_unit_test(texts_that_look_like_numbers_stay_texts),
      cmocka_unit_test(misplaced_non_finite_numbers_are_refused),
      cmocka_unit_test(text_that_is_no_json_is_refused_by_name_and_place),
      cmocka_unit_test(nesting_is_limited),
      cmocka_unit_test(objects_are_told_from_other_values),
      cmocka_unit_test(of_equal_keys_the_last_wins_where_the_first_stood),
      cmocka_unit_test(objects_may_have_many_keys),
      cmocka_unit_test(packed_values_are_as_shallow_as_texts),
      cmocka_unit_test(wire_form_has_texts_for_non_finite_numbers),
      cmocka_unit_test(a_comparison_with_a_text_needs_no_memory),
      cmocka_unit_test(a_key_is_erased_as_a_whole_or_not_at_all),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
