// What ranks bring to one checkpoint, put together: pure functions.
#include <limits>

#include "core/base/error.h"
#include "core/context/checkpoint/checkpoint_metadata.h"
#include "core/context/checkpoint/joint_upload.h"
#include "tests/cmocka.h"

namespace det::test {
namespace {

using Ints = std::vector<int>;

void files_of_one_name_are_shared_and_directories_are_not(void **) {
  assert_equal(context::shared_names({{{"file0", 1}}, {{"file0", 1}}}),
               (context::RanksByName{{"file0", {0, 1}}}));
  assert_true(context::shared_names({{{"dir1/", 0}}, {{"dir1/", 0}}}).empty());
  assert_true(context::shared_names({{{"dir1/", 0}, {"dir1/file1", 1}}, {{"file1", 1}}}).empty());
}

void a_file_and_a_directory_of_one_name_are_shared(void **) {
  assert_equal(context::shared_names({{{"file1/", 0}}, {{"file1", 1}}}),
               (context::RanksByName{{"file1", {0, 1}}}));
  assert_equal(context::shared_names({{{"dir1/file1", 1}}, {}, {{"dir1/file1/", 0}}}),
               (context::RanksByName{{"dir1/file1", {0, 2}}}));
}

void what_a_selected_file_lies_in_is_a_directory(void **) {
  assert_equal(context::shared_names({{{"a/b/c", 1}}, {{"a", 1}}, {{"a/b", 1}}}),
               (context::RanksByName{{"a", {0, 1, 2}}, {"a/b", {0, 2}}}));
}

void sizes_and_kinds_decide_without_reading(void **) {
  const std::vector<storage::Resources> listings{{{"kind", 1}, {"same", 5}, {"size", 1}},
                                                 {{"kind/", 0}, {"same", 5}, {"size", 2}}};
  const context::SharedFiles apart = context::compare_listings(listings, {"here", "there"});
  assert_equal(apart.conflicting, (context::RanksByName{{"kind", {0, 1}}, {"size", {0, 1}}}));
  assert_equal(apart.undecided, (context::RanksByName{{"same", {0, 1}}}));
  assert_true(apart.equal.empty());
  const context::SharedFiles one = context::compare_listings(listings, {"here", "here"});
  assert_equal(one.equal, (context::RanksByName{{"same", {0, 1}}}));
}

void checksums_decide_the_rest(void **) {
  context::SharedFiles shared;
  shared.undecided = {{"a", {0, 1}}, {"b", {1, 2}}};
  context::decide(shared, {{{"a", 7}}, {{"a", 7}, {"b", 1}}, {{"b", 2}}});
  assert_equal(shared.equal, (context::RanksByName{{"a", {0, 1}}}));
  assert_equal(shared.conflicting, (context::RanksByName{{"b", {1, 2}}}));
  assert_true(shared.undecided.empty());
}

void the_lowest_rank_stores_what_is_shared(void **) {
  const storage::Resources listing{{"dir/", 0}, {"mine", 1}, {"shared", 1}};
  const context::RanksByName equal{{"shared", {1, 3}}};
  assert_equal(context::paths_to_store(1, listing, equal),
               (std::vector<std::string>{"dir/", "mine", "shared"}));
  assert_equal(context::paths_to_store(3, listing, equal),
               (std::vector<std::string>{"dir/", "mine"}));
}

void files_are_shared_out_by_their_bytes(void **) {
  const uint64_t mib = uint64_t{1} << 20;
  const auto shares = context::share_out(
      {{"a", 3 * mib}, {"b", 2 * mib}, {"c", 2 * mib}, {"d", mib}, {"directory/", 0}}, 2);
  assert_int_equal(shares.size(), 2);
  assert_equal(shares[0], (std::vector<std::string>{"a", "d"}));
  assert_equal(shares[1], (std::vector<std::string>{"c", "b"}));
  assert_equal(context::share_out({}, 3), std::vector<std::vector<std::string>>(3));
}

Ints conflict_at(const std::string &path, const std::vector<const char *> &of_ranks) {
  std::vector<Json> parsed;
  for (const char *text : of_ranks) parsed.push_back(parse_json(text, "metadata"));
  const context::MergedMetadata result = context::merge_metadata(parsed);
  if (result.conflicts.size() != 1 || !result.conflicts.contains(path)) return {};
  return result.conflicts.at(path);
}

void metadata_is_merged_key_by_key(void **) {
  const context::MergedMetadata result = context::merge_metadata(
      {Json::parse(R"({"a":{"c":1},"l":[1,{"x":1,"y":2}]})"),
       Json::parse(R"({"a":{"d":2},"l":[1.0,{"y":2,"x":1}],"n":null})"), Json::parse("{}")});
  assert_true(result.conflicts.empty());
  assert_string_equal(result.merged.dump().c_str(),
                      R"({"a":{"c":1,"d":2},"l":[1,{"x":1,"y":2}],"n":null})");
}

void the_first_of_different_values_stays(void **) {
  const context::MergedMetadata result =
      context::merge_metadata({Json::parse(R"({"a":1,"b":0})"), Json::parse(R"({"a":0})")});
  assert_string_equal(result.merged.dump().c_str(), R"({"a":1,"b":0})");
  assert_equal(result.conflicts.at("/a"), (Ints{0, 1}));
}

void metadata_conflicts_name_path_and_ranks(void **) {
  assert_equal(conflict_at("/a", {R"({"a":{"c":1}})", R"({"a":[2]})"}), (Ints{0, 1}));
  assert_equal(conflict_at("/a", {R"({"a":{}})", R"({"a":1})"}), (Ints{0, 1}));
  assert_equal(conflict_at("/a", {R"({"a":1})", R"({"a":{}})"}), (Ints{0, 1}));
  assert_equal(conflict_at("/a", {R"({"a":null})", R"({"a":{}})"}), (Ints{0, 1}));
  assert_equal(conflict_at("/d/d/c", {R"({"d":{"e":1}})", R"({"d":{"d":{"c":1}}})",
                                      R"({"d":{"d":{"c":2}}})"}),
               (Ints{1, 2}));
  assert_equal(
      conflict_at("/a", {R"({"a":1})", R"({"a":1})", R"({"a":2})", R"({"a":3})", R"({"a":1})"}),
      (Ints{0, 1, 2, 3}));
}

void numbers_that_are_not_finite_are_equal_to_themselves(void **) {
  const Json nan = {{"loss", std::numeric_limits<double>::quiet_NaN()}};
  assert_true(context::merge_metadata({nan, nan}).conflicts.empty());
}

void a_list_of_conflicts_has_a_line_for_each(void **) {
  assert_string_equal(context::list_conflicts({{"a", {0, 2}}, {"b", {1, 3}}}).c_str(),
                      "\n  a: ranks 0, 2\n  b: ranks 1, 3");
}

}  // namespace
}  // namespace det::test

int test_checkpoint_merge() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(files_of_one_name_are_shared_and_directories_are_not),
      cmocka_unit_test(a_file_and_a_directory_of_one_name_are_shared),
      cmocka_unit_test(what_a_selected_file_lies_in_is_a_directory),
      cmocka_unit_test(sizes_and_kinds_decide_without_reading),
      cmocka_unit_test(checksums_decide_the_rest),
      cmocka_unit_test(the_lowest_rank_stores_what_is_shared),
      cmocka_unit_test(files_are_shared_out_by_their_bytes),
      cmocka_unit_test(metadata_is_merged_key_by_key),
      cmocka_unit_test(the_first_of_different_values_stays),
      cmocka_unit_test(metadata_conflicts_name_path_and_ranks),
      cmocka_unit_test(numbers_that_are_not_finite_are_equal_to_themselves),
      cmocka_unit_test(a_list_of_conflicts_has_a_line_for_each),
  };
  return cmocka_run_group_tests_name("merging", tests, nullptr, nullptr);
}
