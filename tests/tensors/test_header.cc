// Headers that are no headers are refused, with the name of what is wrong.
#include <unistd.h>

#include "core/tensors/sharding.h"
#include "tests/tensors/fixture.h"

namespace det::tensors {
namespace {

constexpr const char *good =
    R"({"__metadata__":{"a":"b"},"x":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
    R"("y":{"dtype":"U8","shape":[],"data_offsets":[24,25]}})";

void what_is_written_is_understood(void **) {
  const Header header = parse_header(good, 25, "it");
  assert_int_equal(header.tensors.size(), 2);
  assert_string_equal(header.tensors[0].name.c_str(), "x");
  assert_true(header.tensors[0].dtype == Dtype::f32);
  assert_true((header.tensors[0].shape == Shape{2, 3}));
  assert_int_equal(header.tensors[1].end, 25);
  assert_string_equal(header.metadata.at("a").c_str(), "b");
  const std::string text = format_header(header.tensors, header.metadata);
  assert_int_equal(text.size() % 8, 0);
  const Header again = parse_header(std::string_view(text).substr(8), 25, "it");
  assert_int_equal(again.tensors.size(), 2);
  assert_int_equal(again.size, text.size());
}

void wrong_headers_are_refused(void **) {
  const std::pair<std::string, const char *> cases[] = {
      {"", "no JSON object"},
      {" {}", "no JSON object"},
      {"[]", "no JSON object"},
      {"{", "not valid JSON"},
      {R"({"x":1})", "a number at 'x'"},
      {R"({"x":[1]})", "an array too many at 'x'"},
      {R"({"x":{}})", "no dtype, shape or data_offsets at 'x'"},
      {R"({"x":{"dtype":"F32","shape":[]}})", "no dtype, shape or data_offsets at 'x'"},
      {R"({"x":{"dtype":"F33"}})", "the unknown dtype 'F33' at 'x'"},
      {R"({"x":{"dtype":"F32","dtype":"F32"}})", "the field 'dtype' twice at 'x'"},
      {R"({"x":{"size":1}})", "the unknown field 'size' at 'x'"},
      {R"({"x":{"shape":[-1]}})", "a negative number at 'x'"},
      {R"({"x":{"shape":[1.5]}})", "a fraction at 'x'"},
      {R"({"x":{"shape":[1e2]}})", "a fraction at 'x'"},
      {R"({"x":{"shape":[[1]]}})", "an array too many at 'x'"},
      {R"({"x":{"shape":[{}]}})", "an object too many at 'x'"},
      {R"({"x":{"data_offsets":[1]}})", "data_offsets that are not two at 'x'"},
      {R"({"x":{"data_offsets":[1,2,3]}})", "data_offsets that are not two at 'x'"},
      {R"({"__metadata__":{"a":1}})", "a number at '__metadata__'"},
      {R"({"__metadata__":{"a":"1","a":"2"}})", "the key 'a' twice"},
      {R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
       R"("x":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
       "tensor 'x' is there twice"},
      {R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", "begins at 1 instead of 0"},
      {R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,2]}})", "tensor 'x' is U8 [1]"},
      {R"({"x":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", "tensor 'x' is F4 [3]"},
      {R"({"x":{"dtype":"U8","shape":[0],"data_offsets":[0,-1]}})", "a negative number at 'x'"},
      {R"({"x":{"dtype":"F64","shape":[4294967296,4294967296,2],"data_offsets":[0,0]}})",
       "tensor 'x' is F64"},
      {R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "have 1 bytes, but it has 2"},
  };
  for (const auto &[text, words] : cases) {
    const std::string message =
        expect_error(Code::corrupt, [&text = text] { parse_header(text, 2, "it"); });
    if (!contains(message, words)) fail_msg("'%s' is not in '%s'", words, message.c_str());
  }
  std::string many = R"({"x":{"shape":[1)";
  for (size_t d = 0; d < most_dimensions; ++d) many += ",1";
  assert_true(contains(expect_error(Code::corrupt, [&] { parse_header(many, 0, "it"); }),
                       "too many dimensions"));
}

void files_that_are_cut_are_refused(void **) {
  const TemporaryDirectory directory;
  const Owned tensor("x", Dtype::f32, {2, 3});
  const storage::Tree root(directory.path());
  write_file(root, "whole", {tensor.tensor}, {});
  const std::string text = read_file(directory / "whole");
  for (size_t size = 0; size < text.size(); ++size) {
    write_text(directory / "cut", text.substr(0, size));
    expect_error(Code::corrupt, [&] { Reader(storage::Tree(directory.path()), "cut", true); });
  }
  write_text(directory / "cut", text + "x");
  expect_error(Code::corrupt, [&] { Reader(storage::Tree(directory.path()), "cut", true); });
  write_text(directory / "cut", std::string(8, '\xff') + text);
  assert_true(contains(
      expect_error(Code::corrupt, [&] { Reader(storage::Tree(directory.path()), "cut", true); }),
      "100 MB at most"));
}

// Slow readers took seconds to look for each name among all others.
void a_hundred_thousand_names_are_no_burden(void **) {
  std::vector<StoredTensor> many;
  for (uint64_t i = 0; i < 100'000; ++i)
    many.push_back({"tensor " + std::to_string(i), Dtype::u8, {1}, i, i + 1});
  const std::string text = format_header(many, {});
  assert_int_equal(parse_header(std::string_view(text).substr(8), 100'000, "it").tensors.size(),
                   100'000);
}

void sharding_that_is_none_is_refused(void **) {
  const std::pair<std::string, const char *> cases[] = {
      {"[]", "expected a JSON object"},
      {"{", "not valid JSON"},
      {R"({"x":[]})", "DCP_SHARDING_INFO"},
      {R"({"x":{"saved_offsets":"0"}})", "DCP_SHARDING_INFO"},
      {R"({"x":{"saved_offsets":[1]}})", "does not lie in the tensor"},
      {R"({"x":{"saved_offsets":[18446744073709551615,0]}})", "does not lie in the tensor"},
      {R"({"x":{"saved_offsets":[1,0],"global_shape":[2,3]}})", "does not lie in the tensor"},
  };
  for (const auto &[text, words] : cases) {
    Header header = parse_header(good, 25, "it");
    header.metadata["DCP_SHARDING_INFO"] = text;
    const std::string message = expect_error(Code::corrupt, [&] { parts_of(header, "it"); });
    if (!contains(message, words)) fail_msg("'%s' is not in '%s'", words, message.c_str());
  }
}

void an_index_names_only_files_beside_it(void **) {
  assert_true((parse_index(R"({"weight_map":{"a":"f2","b":"f1","c":"f2"}})", "it") ==
               std::vector<std::string>{"f1", "f2"}));
  for (const char *text :
       {"", "[]", "{}", R"({"weight_map":[]})", R"({"weight_map":{"a":1}})",
        R"({"weight_map":{"a":"../f"}})", R"({"weight_map":{"a":"/etc/passwd"}})",
        R"({"weight_map":{},"split_tensors":{"a":"f"}})"})
    expect_error(Code::corrupt, [&] { parse_index(text, "it"); });
}

}  // namespace
}  // namespace det::tensors

int test_header() {
  using namespace det::tensors;
  const CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_is_understood),
      cmocka_unit_test(wrong_headers_are_refused),
      cmocka_unit_test(files_that_are_cut_are_refused),
      cmocka_unit_test(a_hundred_thousand_names_are_no_burden),
      cmocka_unit_test(sharding_that_is_none_is_refused),
      cmocka_unit_test(an_index_names_only_files_beside_it),
  };
  return cmocka_run_group_tests_name("headers of safetensors", tests, nullptr, nullptr);
}
