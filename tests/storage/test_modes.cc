// What a storage lets others do: the modes of everything that the library makes in it.
#include "tests/storage/fixture.h"

namespace det::storage {

namespace {

unsigned mode_of(const fs::path &path) {
  struct stat about {};
  assert_int_equal(lstat(path.c_str(), &about), 0);
  return about.st_mode & 07777;
}

// One checkpoint, saved under this umask and left unannounced, so that its lock is there too.
std::unique_ptr<CheckpointWriter> saved_under(mode_t mask, Storage &storage,
                                              const std::string &id = "one") {
  const mode_t before = umask(mask);
  auto writer = storage.begin(id);
  writer->put("metadata.json", "{}");
  writer->commit();
  umask(before);
  return writer;
}

void what_is_made_follows_the_umask(void **state) {
  Fixture &at = fixture_of(state);
  const auto storage = make_storage_from_uri((at.base / "a/b").string(), at.logger);
  saved_under(027, *storage)->announced();
  for (const char *made : {"", "a", "a/b", "a/b/.partial", "a/b/one"})
    assert_int_equal(mode_of(at.base / made), 0750);
  assert_int_equal(mode_of(at.base / "a/b/one/metadata.json"), 0640);
  assert_int_equal(mode_of(at.base / "a/b/one" / manifest_name), 0640);
}

void nothing_is_writable_by_everybody_whatever_the_umask(void **state) {
  Fixture &at = fixture_of(state);
  assert_int_equal(chmod(at.root.c_str(), 01777), 0);  // as of /tmp, which is no storage
  const auto writer = saved_under(0, *at.storage);
  assert_int_equal(mode_of(at.base) & S_IWOTH, 0);
  for (const auto &entry : fs::recursive_directory_iterator(at.base))
    if ((mode_of(entry.path()) & S_IWOTH) != 0)
      fail_msg("%s has mode %o", entry.path().c_str(), mode_of(entry.path()));
}

void storage_of_a_group_is_shared_by_its_bits(void **state) {
  Fixture &at = fixture_of(state);
  fs::create_directory(at.base);
  assert_int_equal(chmod(at.base.c_str(), 02770), 0);
  const auto deeper = make_storage_from_uri((at.base / "team").string(), at.logger);
  saved_under(077, *at.storage)->announced();
  saved_under(077, *deeper)->announced();
  assert_int_equal(mode_of(at.base / ".partial"), 02770);
  assert_int_equal(mode_of(at.base / "team"), 02770);
  assert_int_equal(mode_of(at.base / "team/.partial"), 02770);
  assert_int_equal(mode_of(at.base / "one") & 0777, 0700);  // whose it is, decides
}

void member_of_a_group_hands_the_staging_to_it(void **state) {
  Fixture &at = fixture_of(state);
  if (geteuid() != 0) {
    print_message("# SKIPPED: only root can be in a group of its choice\n");
    skip();
  }
  fs::create_directory(at.base);
  assert_int_equal(chown(at.base.c_str(), 0, 65534), 0);
  assert_int_equal(chmod(at.base.c_str(), 0770), 0);
  saved_under(022, *at.storage)->announced();
  struct stat about {};
  assert_int_equal(stat((at.base / ".partial").c_str(), &about), 0);
  assert_int_equal(about.st_gid, 65534);
  assert_int_equal(about.st_mode & 07777, 0775);
}

void storage_of_everybody_keeps_apart_what_is_whose(void **state) {
  Fixture &at = fixture_of(state);
  fs::create_directory(at.base);
  assert_int_equal(chmod(at.base.c_str(), 0777), 0);
  saved_under(077, *at.storage)->announced();
  assert_int_equal(mode_of(at.base / ".partial"), 01777);
  assert_int_equal(mode_of(at.base / "one"), 0700);
}

void staging_of_an_earlier_release_is_tightened(void **state) {
  Fixture &at = fixture_of(state);
  for (const auto &[base, expected] : {std::pair(0755, 0775), {0777, 01777}, {01777, 01777}}) {
    at.directory("base/.partial");
    assert_int_equal(chmod(at.base.c_str(), static_cast<mode_t>(base)), 0);
    assert_int_equal(chmod((at.base / ".partial").c_str(), 0777), 0);
    at.storage->begin("one")->abort();
    assert_int_equal(mode_of(at.base / ".partial"), expected);
  }
}

void staging_that_is_a_link_is_refused(void **state) {
  Fixture &at = fixture_of(state);
  fs::create_directory(at.base);
  fs::create_symlink(at.directory("elsewhere"), at.base / ".partial");
  assert_throws(Code::access, ".partial", [&] { at.storage->begin("one"); });
  assert_true(fs::is_empty(at.root / "elsewhere"));
}

void copies_have_no_set_id_bits(void **state) {
  Fixture &at = fixture_of(state);
  at.file("sample/tool");
  at.directory("sample/sub");
  assert_int_equal(chmod((at.root / "sample/tool").c_str(), 06755), 0);
  assert_int_equal(chmod((at.root / "sample/sub").c_str(), 07755), 0);
  at.store("one", at.root / "sample");
  assert_int_equal(mode_of(at.base / "one/tool"), 0755);
  assert_int_equal(mode_of(at.base / "one/sub"), 0755);
  // As of another program, or set afterwards.
  assert_int_equal(chmod((at.base / "one/tool").c_str(), 06755), 0);
  assert_int_equal(chmod((at.base / "one/sub").c_str(), 07755), 0);
  for (const bool checksums : {true, false}) {
    at.storage->download("one", at.root / "target", nullptr, checksums);
    assert_int_equal(mode_of(at.root / "target/tool"), 0755);
    assert_int_equal(mode_of(at.root / "target/sub"), 0755);
    remove_tree(at.root / "target");
  }
}

void setgid_of_the_target_itself_stays(void **state) {
  Fixture &at = fixture_of(state);
  at.store("one", at.sample());
  assert_int_equal(chmod(at.directory("target").c_str(), 02755), 0);
  at.storage->download("one", at.root / "target", nullptr, true);
  assert_int_equal(mode_of(at.root / "target/subdir"), 02755);
}

void metadata_is_not_written_through_a_link(void **state) {
  Fixture &at = fixture_of(state);
  const fs::path precious = at.file("precious", "mine");
  const auto writer = at.storage->begin("one");
  fs::create_symlink(precious, writer->path() / "metadata.json");
  writer->put("metadata.json", "{}");
  fs::create_hard_link(precious, writer->path() / "model");
  writer->put("model", "weights");
  assert_string_equal(read_file(precious).c_str(), "mine");
  assert_string_equal(read_file(writer->path() / "model").c_str(), "weights");
  writer->commit();
}

}  // namespace

}  // namespace det::storage

int test_modes() {
  using namespace det::storage;
  const CMUnitTest tests[] = {
      STORAGE_TEST(what_is_made_follows_the_umask),
      STORAGE_TEST(nothing_is_writable_by_everybody_whatever_the_umask),
      STORAGE_TEST(storage_of_a_group_is_shared_by_its_bits),
      STORAGE_TEST(member_of_a_group_hands_the_staging_to_it),
      STORAGE_TEST(storage_of_everybody_keeps_apart_what_is_whose),
      STORAGE_TEST(staging_of_an_earlier_release_is_tightened),
      STORAGE_TEST(staging_that_is_a_link_is_refused),
      STORAGE_TEST(copies_have_no_set_id_bits),
      STORAGE_TEST(setgid_of_the_target_itself_stays),
      STORAGE_TEST(metadata_is_not_written_through_a_link),
  };
  return cmocka_run_group_tests_name("storage modes", tests, nullptr, nullptr);
}
