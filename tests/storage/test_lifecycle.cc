// One suite, run over each kind of storage that keeps directories.
#include <set>

#include "core/base/uuid.h"
#include "tests/storage/fixture.h"

namespace det::storage {

namespace {

const Resources sample_resources{{"root.txt", 9},
                                 {"subdir/", 0},
                                 {"subdir/file1.txt", 13},
                                 {"subdir/file2.txt", 13},
                                 {"empty_dir/", 0}};

void checkpoint_lives_from_begin_to_remove(void **state) {
  Fixture &at = fixture_of(state);
  const std::string id = make_uuid();
  const auto writer = at.storage->begin(id);
  assert_string_equal(writer->path().filename().c_str(), id.c_str());
  write_all(open_file(writer->path() / "model", O_WRONLY | O_CREAT).get(), "weights", "model");
  fs::create_directory(writer->path() / "empty");
  assert_false(fs::exists(at.base / id));
  const Resources expected{{"model", 7}, {"empty/", 0}};
  assert_equal(writer->commit(), expected);
  writer->announced();
  assert_int_equal(at.names_in_partial(), 0);
  const auto reader = at.storage->restore(id, nullptr, true);
  assert_string_equal(reader->path().c_str(), (at.base / id).c_str());
  assert_string_equal(read_file(reader->path() / "model").c_str(), "weights");
  at.storage->remove(id);
  assert_throws(Code::not_found, id, [&] { at.storage->restore(id, nullptr, true); });
  at.storage->remove(id);
  assert_int_equal(at.names_in_partial(), 0);
}

void what_was_added_comes_back(void **state) {
  Fixture &at = fixture_of(state);
  assert_equal(at.store("one", at.sample()), sample_resources);
  at.storage->download("one", at.root / "new/target", nullptr, true);
  assert_equal(list_directory(at.root / "new/target"), sample_resources);
  assert_string_equal(read_file(at.root / "new/target/subdir/file1.txt").c_str(), "nested file 1");
  assert_false(fs::exists(at.root / "new/target" / manifest_name));
}

void add_takes_exactly_the_given_paths(void **state) {
  Fixture &at = fixture_of(state);
  const auto writer = at.storage->begin("part");
  writer->add(at.sample(), {{"subdir/file1.txt", "empty_dir/"}});
  const Resources expected{{"subdir/", 0}, {"subdir/file1.txt", 13}, {"empty_dir/", 0}};
  assert_equal(writer->commit(), expected);
}

void add_of_nothing_makes_an_empty_checkpoint(void **state) {
  Fixture &at = fixture_of(state);
  const auto writer = at.storage->begin("none");
  writer->add(at.sample(), std::vector<std::string>{});
  assert_true(writer->commit().empty());
  writer->announced();
  at.storage->download("none", at.root / "target", nullptr, true);
  assert_true(fs::is_directory(at.root / "target"));
}

void add_of_a_path_that_is_not_there_names_it(void **state) {
  Fixture &at = fixture_of(state);
  const auto writer = at.storage->begin("part");
  assert_throws(Code::not_found, "absent.txt", [&] {
    writer->add(at.sample(), {{"root.txt", "absent.txt"}});
  });
  assert_throws(Code::state, "failed before", [&] { writer->commit(); });
  assert_false(fs::exists(at.base / "part"));
}

void later_add_replaces_files_of_the_same_name(void **state) {
  Fixture &at = fixture_of(state);
  at.file("other/root.txt", "newer");
  const auto writer = at.storage->begin("both");
  writer->add(at.sample(), std::nullopt);
  writer->add(at.root / "other", std::nullopt);
  assert_int_equal(writer->commit().at("root.txt"), 5);
  at.storage->restore("both", nullptr, true);
}

void selector_limits_a_download(void **state) {
  Fixture &at = fixture_of(state);
  at.store("one", at.sample());
  std::set<std::string> seen;
  at.storage->download(
      "one", at.root / "target",
      [&](const std::string &path) {
        assert_true(seen.insert(path).second);
        return path == "subdir/file2.txt" || path == "empty_dir/";
      },
      true);
  const Resources expected{{"subdir/", 0}, {"subdir/file2.txt", 13}, {"empty_dir/", 0}};
  assert_equal(list_directory(at.root / "target"), expected);
  assert_int_equal(seen.size(), sample_resources.size());
}

void selector_that_rejects_everything_makes_no_target(void **state) {
  Fixture &at = fixture_of(state);
  at.store("one", at.sample());
  at.storage->download(
      "one", at.root / "target", [](const std::string &) { return false; }, true);
  assert_false(fs::exists(at.root / "target"));
}

void download_replaces_its_files_and_leaves_others(void **state) {
  Fixture &at = fixture_of(state);
  at.store("one", at.sample());
  at.file("target/root.txt", "a longer text of before");
  at.file("target/mine.txt", "mine");
  at.storage->download("one", at.root / "target", nullptr, true);
  assert_string_equal(read_file(at.root / "target/root.txt").c_str(), "root file");
  assert_string_equal(read_file(at.root / "target/mine.txt").c_str(), "mine");
}

void restore_warns_about_a_selector_and_ignores_it(void **state) {
  Fixture &at = fixture_of(state);
  at.store("one", at.sample());
  {
    const auto reader = at.storage->restore(
        "one", [](const std::string &) { return false; }, true);
    assert_equal(list_directory(reader->path()), sample_resources);
  }
  assert_true(at.log.find("selector is ignored") != std::string::npos);
  assert_true(fs::exists(at.base / "one"));
}

void unknown_ids_are_not_found(void **state) {
  Fixture &at = fixture_of(state);
  const char *key =
      at.storage->config().at("type") == "directory" ? "`container_path`" : "`host_path`";
  assert_throws(Code::not_found, key, [&] { at.storage->restore("absent", nullptr, false); });
  at.storage->remove("absent");
  assert_true(at.storage->remove_matching("absent", {"*"}).empty());
  at.store("one", at.sample());
  assert_throws(Code::not_found, "absent", [&] { at.storage->restore("absent", nullptr, false); });
  assert_throws(Code::not_found, "absent",
                [&] { at.storage->download("absent", at.root / "t", nullptr, false); });
  assert_false(fs::exists(at.root / "t"));
}

void what_is_no_directory_is_no_checkpoint(void **state) {
  Fixture &at = fixture_of(state);
  at.store("one", at.sample());
  at.file("base/file");
  fs::create_symlink("one", at.base / "link");
  for (const char *id : {"file", "link"}) {
    assert_throws(Code::not_found, "not a checkpoint",
                  [&] { at.storage->restore(id, nullptr, false); });
    assert_throws(Code::not_found, "not a checkpoint",
                  [&] { at.storage->download(id, at.root / "t", nullptr, false); });
    assert_throws(Code::not_found, "not a checkpoint", [&] { at.storage->remove(id); });
    assert_throws(Code::not_found, "not a checkpoint",
                  [&] { at.storage->remove_matching(id, {"*"}); });
  }
  assert_true(fs::exists(at.base / "one/root.txt"));
}

void ids_cannot_leave_the_storage(void **state) {
  Fixture &at = fixture_of(state);
  at.file("victim/file");
  at.store("one", at.sample());
  for (const char *id : {"", ".", "..", "../victim", "one/../../victim", ".partial"}) {
    assert_throws(Code::invalid, "storage id", [&] { at.storage->begin(id); });
    assert_throws(Code::invalid, "storage id", [&] { at.storage->remove(id); });
    assert_throws(Code::invalid, "storage id", [&] { at.storage->remove_matching(id, {"*"}); });
    assert_throws(Code::invalid, "storage id", [&] { at.storage->withdraw(id); });
    assert_throws(Code::invalid, "storage id", [&] { at.storage->settle(id); });
    assert_throws(Code::invalid, "storage id", [&] { at.storage->restore(id, nullptr, false); });
    assert_throws(Code::invalid, "storage id",
                  [&] { at.storage->download(id, at.root / "t", nullptr, false); });
  }
  assert_true(fs::exists(at.root / "victim/file"));
}

void ids_with_a_common_prefix_do_not_mix(void **state) {
  Fixture &at = fixture_of(state);
  at.store("abc", at.sample());
  at.store("abcd", at.sample());
  at.storage->remove("abc");
  at.storage->restore("abcd", nullptr, true);
}

void globs_remove_what_they_match(void **state) {
  Fixture &at = fixture_of(state);
  struct Row {
    std::vector<std::string> globs;
    Resources remaining;
  };
  Resources no_empty = sample_resources;
  no_empty.erase("empty_dir/");
  Resources no_root = sample_resources;
  no_root.erase("root.txt");
  const Row rows[] = {
      {{"empty_dir/*", "subdir/*"}, {{"empty_dir/", 0}, {"subdir/", 0}, {"root.txt", 9}}},
      {{"empty_dir"}, no_empty},
      {{"subdir"}, {{"root.txt", 9}, {"empty_dir/", 0}}},
      {{"**/*.txt"}, {{"empty_dir/", 0}, {"subdir/", 0}}},
      {{"**.txt"}, no_root},
      {{"*/"}, {{"root.txt", 9}}},
      {{"**/*"}, {}},
      {{"*"}, {}},
      {{}, sample_resources},
  };
  for (const Row &row : rows) {
    at.store("one", at.sample());
    assert_equal(at.storage->remove_matching("one", row.globs), row.remaining);
    if (row.remaining.empty()) {
      assert_false(fs::exists(at.base / "one"));
    } else {
      assert_equal(list_directory(at.base / "one"), row.remaining);
      at.storage->restore("one", nullptr, true);  // the manifest was rewritten
      at.storage->remove("one");
    }
  }
}

void globs_spare_hidden_names_the_manifest_and_what_lies_outside(void **state) {
  Fixture &at = fixture_of(state);
  at.file("sample/.hidden", "1");
  at.store("one", at.sample());
  at.store("two", at.sample());
  const Resources remaining =
      at.storage->remove_matching("one", {"*", ".detcore*", "../two/*", "/etc/*"});
  const Resources expected{{".hidden", 1}};
  assert_equal(remaining, expected);
  assert_true(at.log.find("'../two/*' leads out") != std::string::npos);
  assert_true(at.log.find("'/etc/*' leads out") != std::string::npos);
  at.storage->restore("one", nullptr, true);
  at.storage->restore("two", nullptr, true);
  at.storage->remove_matching("two", {"**/*"});
  assert_false(fs::exists(at.base / "two"));
}

void validation_leaves_nothing_behind(void **state) {
  Fixture &at = fixture_of(state);
  validate_storage(*at.storage);
  assert_int_equal(at.names_in_partial(), 0);
  assert_equal(list_directory(at.base).size(), 1);  // .partial/
}

void a_probe_says_where_nothing_can_be_stored_and_makes_nothing(void **state) {
  Fixture &at = fixture_of(state);
  require_usable(*at.storage);
  assert_false(fs::exists(at.base));
  at.file("base", "a file");
  assert_throws(Code::invalid, "before training begins", [&] { require_usable(*at.storage); });
}

void writer_keeps_to_its_order(void **state) {
  Fixture &at = fixture_of(state);
  const auto writer = at.storage->begin("one");
  assert_throws(Code::state, "not committed", [&] { writer->announced(); });
  assert_throws(Code::conflict, "being written", [&] { at.storage->begin("one"); });
  writer->commit();
  assert_throws(Code::state, "already", [&] { writer->commit(); });
  assert_throws(Code::state, "already", [&] { writer->add(at.sample(), std::nullopt); });
  assert_throws(Code::conflict, "taken", [&] { at.storage->begin("one"); });
  writer->announced();
  assert_throws(Code::state, "delete it", [&] { writer->abort(); });
  assert_true(fs::exists(at.base / "one"));
}

void abort_removes_what_was_written_or_committed(void **state) {
  Fixture &at = fixture_of(state);
  const auto staged = at.storage->begin("staged");
  staged->add(at.sample(), std::nullopt);
  staged->abort();
  staged->abort();
  assert_throws(Code::state, "aborted", [&] { staged->commit(); });
  const auto committed = at.storage->begin("committed");
  committed->commit();
  committed->abort();
  { const auto dropped = at.storage->begin("dropped"); }
  assert_int_equal(at.names_in_partial(), 0);
  assert_equal(list_directory(at.base).size(), 1);
}

int make_directory_fixture(void **state) {
  *state = new Fixture(true);
  return 0;
}

}  // namespace

}  // namespace det::storage

#define ON_BOTH(name)                                                              \
  {"shared_fs: " #name, det::storage::name, det::storage::make_fixture,            \
   det::storage::drop_fixture, nullptr},                                           \
  {                                                                                \
    "directory: " #name, det::storage::name, det::storage::make_directory_fixture, \
        det::storage::drop_fixture, nullptr                                        \
  }

int test_lifecycle() {
  const CMUnitTest tests[] = {
      ON_BOTH(checkpoint_lives_from_begin_to_remove),
      ON_BOTH(what_was_added_comes_back),
      ON_BOTH(add_takes_exactly_the_given_paths),
      ON_BOTH(add_of_nothing_makes_an_empty_checkpoint),
      ON_BOTH(add_of_a_path_that_is_not_there_names_it),
      ON_BOTH(later_add_replaces_files_of_the_same_name),
      ON_BOTH(selector_limits_a_download),
      ON_BOTH(selector_that_rejects_everything_makes_no_target),
      ON_BOTH(download_replaces_its_files_and_leaves_others),
      ON_BOTH(restore_warns_about_a_selector_and_ignores_it),
      ON_BOTH(unknown_ids_are_not_found),
      ON_BOTH(what_is_no_directory_is_no_checkpoint),
      ON_BOTH(ids_cannot_leave_the_storage),
      ON_BOTH(ids_with_a_common_prefix_do_not_mix),
      ON_BOTH(globs_remove_what_they_match),
      ON_BOTH(globs_spare_hidden_names_the_manifest_and_what_lies_outside),
      ON_BOTH(validation_leaves_nothing_behind),
      ON_BOTH(a_probe_says_where_nothing_can_be_stored_and_makes_nothing),
      ON_BOTH(writer_keeps_to_its_order),
      ON_BOTH(abort_removes_what_was_written_or_committed),
  };
  return cmocka_run_group_tests_name("storage life cycle", tests, nullptr, nullptr);
}
