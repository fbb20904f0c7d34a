#include <sys/resource.h>

#include "tests/storage/fixture.h"

namespace det::storage {

namespace {

void list_names_files_and_directories_but_not_the_root(void **state) {
  const Fixture &at = fixture_of(state);
  at.file("d/root.txt", "12345");
  at.file("d/nested/nested.txt", "");
  at.file("d/nested/another.txt", "1");
  at.directory("d/.hidden");
  const Resources expected{{"root.txt", 5},
                           {"nested/", 0},
                           {"nested/nested.txt", 0},
                           {"nested/another.txt", 1},
                           {".hidden/", 0}};
  assert_equal(list_directory(at.root / "d"), expected);
}

void list_of_missing_directory_is_not_found(void **state) {
  const Fixture &at = fixture_of(state);
  assert_throws(Code::not_found, "absent", [&] { list_directory(at.root / "absent"); });
}

void list_of_file_is_invalid(void **state) {
  const Fixture &at = fixture_of(state);
  assert_throws(Code::invalid, "plain", [&] { list_directory(at.file("plain")); });
}

void list_does_not_enter_linked_directories(void **state) {
  const Fixture &at = fixture_of(state);
  at.file("elsewhere/inner", "1");
  at.file("d/real", "123");
  fs::create_symlink(at.root / "elsewhere", at.root / "d/lnk");
  fs::create_symlink("real", at.root / "d/file_lnk");
  const Resources expected{{"lnk/", 0}, {"real", 3}, {"file_lnk", 3}};
  assert_equal(list_directory(at.root / "d"), expected);
}

void list_with_dangling_link_is_not_found(void **state) {
  const Fixture &at = fixture_of(state);
  fs::create_symlink("nowhere", at.directory("d") / "dangling");
  assert_throws(Code::not_found, "dangling", [&] { list_directory(at.root / "d"); });
}

void list_keeps_names_that_are_no_text(void **state) {
  const Fixture &at = fixture_of(state);
  at.file("d/\xff\xfe", "1");
  at.file("d/line\nbreak", "12");
  const Resources expected{{"\xff\xfe", 1}, {"line\nbreak", 2}};
  assert_equal(list_directory(at.root / "d"), expected);
}

void list_leaves_out_the_manifest_of_the_root_only(void **state) {
  const Fixture &at = fixture_of(state);
  at.file(std::string("d/") + manifest_name);
  at.file(std::string("d/sub/") + manifest_name, "1");
  const Resources expected{{"sub/", 0}, {std::string("sub/") + manifest_name, 1}};
  assert_equal(list_directory(at.root / "d"), expected);
}

void deep_trees_need_no_file_descriptors(void **state) {
  const Fixture &at = fixture_of(state);
  std::string path = "d";
  for (int i = 0; i < 500; ++i) path += "/x";
  at.file(path + "/leaf", "1");
  rlimit before{};
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{64, before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
  const size_t found = list_directory(at.root / "d").size();
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  assert_int_equal(found, 501);
}

void a_tree_deeper_than_any_path_is_refused_and_goes(void **state) {
  const Fixture &at = fixture_of(state);
  Fd deepest = open_file(at.directory("d"), O_RDONLY | O_DIRECTORY);
  for (int level = 0; level < 10'000; ++level) {
    assert_int_equal(mkdirat(deepest.get(), "x", 0755), 0);
    deepest = Fd(openat(deepest.get(), "x", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  assert_throws(Code::invalid, "'x/x/", [&] { list_directory(at.root / "d"); });
  remove_tree(at.root / "d");
  assert_false(fs::exists(at.root / "d"));
}

void storage_ids_are_single_plain_components(void **) {
  for (const char *good : {"a", "3f1b-0", "A_b.c", "trial..1"}) check_storage_id(good);
  check_storage_id(std::string(255, 'x'));
  for (const std::string &bad :
       {std::string(""), std::string("."), std::string(".."), std::string(".partial"),
        std::string("a/b"), std::string("../a"), std::string("/a"), std::string("a b"),
        std::string("a\0b", 3), std::string("\xff"), std::string(256, 'x')})
    assert_throws(Code::invalid, "storage id", [&] { check_storage_id(bad); });
}

}  // namespace

}  // namespace det::storage

int test_list() {
  using namespace det::storage;
  const CMUnitTest tests[] = {
      STORAGE_TEST(list_names_files_and_directories_but_not_the_root),
      STORAGE_TEST(list_of_missing_directory_is_not_found),
      STORAGE_TEST(list_of_file_is_invalid),
      STORAGE_TEST(list_does_not_enter_linked_directories),
      STORAGE_TEST(list_with_dangling_link_is_not_found),
      STORAGE_TEST(list_keeps_names_that_are_no_text),
      STORAGE_TEST(list_leaves_out_the_manifest_of_the_root_only),
      STORAGE_TEST(deep_trees_need_no_file_descriptors),
      STORAGE_TEST(a_tree_deeper_than_any_path_is_refused_and_goes),
      cmocka_unit_test(storage_ids_are_single_plain_components),
  };
  return cmocka_run_group_tests_name("storage listing", tests, nullptr, nullptr);
}
