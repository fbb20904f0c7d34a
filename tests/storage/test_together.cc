// Several writers of one checkpoint: one begins it, the others join.
#include <sys/stat.h>

#include "core/storage/manifest.h"
#include "tests/storage/fixture.h"

namespace {

int syncs = 0;

}  // namespace

extern "C" int __real_fsync(int fd);
extern "C" int __wrap_fsync(int fd) {
  struct stat about {};
  if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode))
    __atomic_add_fetch(&syncs, 1, __ATOMIC_SEQ_CST);
  return __real_fsync(fd);
}

namespace det::storage {

namespace {

void write(const CheckpointWriter &writer, const std::string &name, const std::string &text) {
  write_all(open_file(writer.path() / name, O_WRONLY | O_CREAT | O_TRUNC).get(), text, name);
}

void what_all_writers_brought_is_one_checkpoint(void **state) {
  Fixture &at = fixture_of(state);
  at.file("first/a", "of the first");
  at.file("second/sub/b", "of the second");
  const auto owner = at.storage->begin("one");
  const auto guest = at.storage->join("one");
  assert_string_equal(guest->path().c_str(), owner->path().c_str());
  owner->add(at.root / "first", std::nullopt);
  guest->add(at.root / "second", std::nullopt);
  write(*guest, "direct", "by hand");
  const Resources expected{{"a", 12}, {"direct", 7}, {"sub/", 0}, {"sub/b", 13}};
  assert_equal(owner->list(), expected);
  const std::string of_guest = guest->finish({"direct"});
  assert_equal(owner->commit({owner->finish({}), of_guest}), expected);
  owner->announced();
  assert_int_equal(read_manifest(Tree(at.base / "one"))->size(), 3);
  at.storage->restore("one", nullptr, true);
  assert_equal(at.storage->list("one"), expected);
  assert_int_equal(at.names_in_partial(), 0);
}

void what_is_finished_is_not_synced_again(void **state) {
  Fixture &at = fixture_of(state);
  const auto owner = at.storage->begin("one");
  const auto guest = at.storage->join("one");
  write(*guest, "a", "A");
  write(*guest, "b", "B");
  syncs = 0;
  const std::string finished = guest->finish({"a", "b"});
  assert_int_equal(syncs, 2);
  owner->commit({finished});
  assert_int_equal(syncs, 3);  // the manifest
}

void what_changed_after_it_was_finished_is_hashed_and_synced_again(void **state) {
  Fixture &at = fixture_of(state);
  const auto owner = at.storage->begin("one");
  const auto guest = at.storage->join("one");
  write(*guest, "a", "before");
  const std::string finished = guest->finish({"a"});
  write(*guest, "a", "after, and longer");
  syncs = 0;
  owner->commit({finished});
  assert_int_equal(syncs, 2);
  at.storage->restore("one", nullptr, true);
}

void what_was_finished_must_be_there(void **state) {
  Fixture &at = fixture_of(state);
  const auto owner = at.storage->begin("one");
  const auto guest = at.storage->join("one");
  write(*guest, "a", "A");
  const std::string finished = guest->finish({"a"});
  fs::remove(guest->path() / "a");
  assert_throws(Code::conflict, "/a': a rank finished it", [&] { owner->commit({finished}); });
  assert_int_equal(at.names_in_partial(), 0);
}

void what_nobody_finished_is_finished_by_the_commit(void **state) {
  Fixture &at = fixture_of(state);
  const auto owner = at.storage->begin("one");
  write(*at.storage->join("one"), "a", "A");
  owner->commit();
  assert_int_equal(read_manifest(Tree(at.base / "one"))->count("a"), 1);
}

void only_the_owner_commits(void **state) {
  Fixture &at = fixture_of(state);
  const auto owner = at.storage->begin("one");
  const auto guest = at.storage->join("one");
  assert_throws(Code::state, "joined it", [&] { guest->commit(); });
  owner->commit();
}

void a_guest_that_leaves_takes_nothing_away(void **state) {
  Fixture &at = fixture_of(state);
  const auto owner = at.storage->begin("one");
  at.storage->join("one");
  const auto guest = at.storage->join("one");
  write(*guest, "a", "A");
  guest->abort();
  assert_throws(Code::state, "aborted already", [&] { guest->finish({}); });
  assert_int_equal(owner->commit().count("a"), 1);
}

void the_owner_takes_everything_away(void **state) {
  Fixture &at = fixture_of(state);
  {
    const auto owner = at.storage->begin("one");
    write(*at.storage->join("one"), "a", "A");
  }
  assert_int_equal(at.names_in_partial(), 0);
}

void what_was_not_begun_cannot_be_joined(void **state) {
  Fixture &at = fixture_of(state);
  assert_throws(Code::not_found, "all machines share", [&] { at.storage->join("one"); });
  assert_throws(Code::invalid, "storage id", [&] { at.storage->join("../one"); });
}

void finishing_what_is_not_there_names_it(void **state) {
  Fixture &at = fixture_of(state);
  const auto owner = at.storage->begin("one");
  assert_throws(Code::not_found, "absent", [&] { owner->finish({"absent"}); });
  assert_throws(Code::not_found, "one", [&] { at.storage->list("one"); });
}

void a_share_that_makes_no_sense_is_refused(void **state) {
  Fixture &at = fixture_of(state);
  for (const char *share : {"", "nonsense", "\x81\x01"})
    assert_throws(Code::corrupt, "a rank finished",
                  [&] { at.storage->begin("one")->commit({share}); });
  assert_int_equal(at.names_in_partial(), 0);
  assert_false(fs::exists(at.base / "one"));
}

void checksums_follow_links_and_need_no_whole_file(void **state) {
  Fixture &at = fixture_of(state);
  at.file("d/a", "text");
  at.file("outside", "text");
  at.file("d/sub/large", std::string(3 << 20, 'x'));
  fs::create_symlink("../outside", at.root / "d/link");
  const auto sums = checksums_of(at.root / "d", {"a", "link", "sub/large"});
  assert_int_equal(sums.size(), 3);
  assert_equal(sums.at("a"), sums.at("link"));
  assert_false(sums.at("a") == sums.at("sub/large"));
}

}  // namespace

}  // namespace det::storage

int main() {
  using namespace det::storage;
  const CMUnitTest tests[] = {
      STORAGE_TEST(what_all_writers_brought_is_one_checkpoint),
      STORAGE_TEST(what_is_finished_is_not_synced_again),
      STORAGE_TEST(what_changed_after_it_was_finished_is_hashed_and_synced_again),
      STORAGE_TEST(what_was_finished_must_be_there),
      STORAGE_TEST(what_nobody_finished_is_finished_by_the_commit),
      STORAGE_TEST(only_the_owner_commits),
      STORAGE_TEST(a_guest_that_leaves_takes_nothing_away),
      STORAGE_TEST(the_owner_takes_everything_away),
      STORAGE_TEST(what_was_not_begun_cannot_be_joined),
      STORAGE_TEST(finishing_what_is_not_there_names_it),
      STORAGE_TEST(a_share_that_makes_no_sense_is_refused),
      STORAGE_TEST(checksums_follow_links_and_need_no_whole_file),
  };
  return cmocka_run_group_tests_name("writing together", tests, nullptr, nullptr);
}
