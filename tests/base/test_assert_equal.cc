// What a failed comparison prints.
#include <map>
#include <vector>

#include "core/base/json.h"
#include "tests/cmocka.h"

namespace {

using namespace det;
using det::test::described;

void values_are_printed_as_one_would_write_them(void **) {
  assert_string_equal(described(0.1).c_str(), "0.10000000000000001");
  assert_string_equal(described(uint8_t{7}).c_str(), "7");
  assert_string_equal(described(true).c_str(), "true");
  assert_string_equal(described("text").c_str(), "\"text\"");
  assert_string_equal(described(std::filesystem::path("/a b")).c_str(), "\"/a b\"");
  assert_string_equal(described(std::chrono::milliseconds(5)).c_str(), "5");
  assert_string_equal(described(Json{{"key", {1, nullptr}}}).c_str(), R"({"key":[1,null]})");
}

void what_holds_values_shows_them(void **) {
  const std::map<std::string, std::vector<int>> map{{"a", {1, 2}}, {"b", {}}};
  assert_string_equal(described(map).c_str(), R"([("a", [1, 2]), ("b", [])])");
  assert_string_equal(described(std::optional(2.5)).c_str(), "2.5");
  assert_string_equal(described(std::optional<int>()).c_str(), "nothing");
}

void numbers_of_other_types_are_compared_by_value(void **) {
  assert_true(test::are_equal(size_t{3}, 3));
  assert_false(test::are_equal(UINT64_MAX, -1));
}

}  // namespace

int test_assert_equal() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(values_are_printed_as_one_would_write_them),
      cmocka_unit_test(what_holds_values_shows_them),
      cmocka_unit_test(numbers_of_other_types_are_compared_by_value),
  };
  return cmocka_run_group_tests_name("assert_equal", tests, nullptr, nullptr);
}
