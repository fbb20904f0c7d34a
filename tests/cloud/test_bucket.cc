// The life of checkpoints in a bucket.
#include <set>

#include "core/base/uuid.h"
#include "core/storage/manifest.h"
#include "core/storage/storage.h"
#include "tests/cloud/bucket_fixture.h"

namespace det::cloud {

namespace {

const Resources sample_resources{{"root.txt", 9},
                                 {"subdir/", 0},
                                 {"subdir/file1.txt", 13},
                                 {"subdir/file2.txt", 13},
                                 {"empty_dir/", 0}};

void checkpoint_lives_from_begin_to_remove(void **state) {
  BucketFixture &at = bucket_of(state);
  const std::string id = make_uuid();
  const auto writer = at.bucket->begin(id);
  assert_string_equal(writer->path().c_str(), (at.root / "machine" / id).c_str());
  write_all(open_file(writer->path() / "model", O_WRONLY | O_CREAT).get(), "weights", "model");
  fs::create_directory(writer->path() / "empty");
  assert_throws(Code::not_found, id, [&] { at.bucket->list(id); });
  const Resources expected{{"model", 7}, {"empty/", 0}};
  assert_equal(writer->commit(), expected);
  writer->announced();
  assert_int_equal(at.left_on(), 0);
  const std::string root = "some/prefix/" + id + "/";
  const std::vector<std::string> keys{root + ".detcore-manifest.json", root + "empty/",
                                      root + "model"};
  assert_equal(at.keys(), keys);
  {
    const auto reader = at.bucket->restore(id, nullptr, true);
    assert_string_equal(read_file(reader->path() / "model").c_str(), "weights");
    assert_true(fs::is_directory(reader->path() / "empty"));
  }
  assert_int_equal(at.left_on(), 0);
  at.bucket->remove(id);
  assert_throws(Code::not_found, id, [&] { at.bucket->restore(id, nullptr, true); });
  at.bucket->remove(id);
  assert_true(at.keys().empty());
}

void what_was_added_comes_back(void **state) {
  BucketFixture &at = bucket_of(state);
  assert_equal(at.save("one", at.sample()), sample_resources);
  at.bucket->download("one", at.root / "new/target", nullptr, true);
  assert_equal(storage::list_directory(at.root / "new/target"), sample_resources);
  assert_equal(at.bucket->list("one"), sample_resources);
  assert_string_equal(read_file(at.root / "new/target/subdir/file1.txt").c_str(), "nested file 1");
  assert_false(fs::exists(at.root / "new/target" / storage::manifest_name));
}

void large_files_go_in_parts(void **state) {
  BucketFixture &at = bucket_of(state);
  std::string large((size_t{80} << 20) + 17, 'x');
  for (size_t i = 0; i < large.size(); i += 4097) large[i] = static_cast<char>(i / 4097);
  at.file("d/large", large);
  at.file("d/none", "");
  at.file("d/middle", large.substr(0, (size_t{20} << 20) + 1));
  at.save("one", at.root / "d");
  assert_int_equal(at.store->part_bytes, large.size());
  at.bucket->download("one", at.root / "t", nullptr, true);
  assert_true(read_file(at.root / "t/large") == large);
  assert_int_equal(fs::file_size(at.root / "t/none"), 0);
  assert_int_equal(fs::file_size(at.root / "t/middle"), (20 << 20) + 1);
  // The same as that of a directory, so that either is verified by the other's manifest.
  const auto sums = storage::checksums_of(at.root / "d", {"large", "middle", "none"});
  const auto manifest = storage::parse_manifest(
      read_file(at.store->object("some/prefix/one/.detcore-manifest.json")), "it");
  for (const auto &[path, sum] : sums) assert_true(manifest.files.at(path).checksum == sum);
}

void add_takes_exactly_the_given_paths(void **state) {
  BucketFixture &at = bucket_of(state);
  const auto writer = at.bucket->begin("part");
  writer->add(at.sample(), {{"subdir/file1.txt", "empty_dir/"}});
  const Resources expected{{"subdir/", 0}, {"subdir/file1.txt", 13}, {"empty_dir/", 0}};
  assert_equal(writer->commit(), expected);
}

void add_of_nothing_makes_an_empty_checkpoint(void **state) {
  BucketFixture &at = bucket_of(state);
  const auto writer = at.bucket->begin("none");
  writer->add(at.sample(), std::vector<std::string>{});
  assert_true(writer->commit().empty());
  writer->announced();
  at.bucket->download("none", at.root / "target", nullptr, true);
  assert_true(fs::is_directory(at.root / "target"));
}

void add_of_a_path_that_is_not_there_names_it(void **state) {
  BucketFixture &at = bucket_of(state);
  const auto writer = at.bucket->begin("part");
  assert_throws(Code::not_found, "absent.txt", [&] {
    writer->add(at.sample(), {{"root.txt", "absent.txt"}});
  });
}

void what_lies_in_the_path_replaces_what_was_added(void **state) {
  BucketFixture &at = bucket_of(state);
  at.file("other/root.txt", "newer");
  const auto writer = at.bucket->begin("both");
  writer->add(at.sample(), std::nullopt);
  writer->add(at.root / "other", std::nullopt);
  writer->put("root.txt", "newest");
  assert_int_equal(writer->commit().at("root.txt"), 6);
  const auto reader = at.bucket->restore("both", nullptr, true);
  assert_string_equal(read_file(reader->path() / "root.txt").c_str(), "newest");
}

void selector_limits_a_download_and_a_restore(void **state) {
  BucketFixture &at = bucket_of(state);
  at.save("one", at.sample());
  std::set<std::string> seen;
  const storage::Selector selector = [&](const std::string &path) {
    assert_true(seen.insert(path).second);
    return path == "subdir/file2.txt" || path == "empty_dir/";
  };
  at.bucket->download("one", at.root / "target", selector, true);
  const Resources expected{{"subdir/", 0}, {"subdir/file2.txt", 13}, {"empty_dir/", 0}};
  assert_equal(storage::list_directory(at.root / "target"), expected);
  assert_int_equal(seen.size(), sample_resources.size());
  seen.clear();
  assert_equal(storage::list_directory(at.bucket->restore("one", selector, true)->path()),
               expected);
  at.bucket->download(
      "one", at.root / "no", [](const std::string &) { return false; }, true);
  assert_false(fs::exists(at.root / "no"));
}

void unknown_ids_are_not_found(void **state) {
  BucketFixture &at = bucket_of(state);
  assert_throws(Code::not_found, "folder://bucket/some/prefix/absent/",
                [&] { at.bucket->restore("absent", nullptr, false); });
  assert_throws(Code::not_found, "absent",
                [&] { at.bucket->download("absent", at.root / "t", nullptr, false); });
  assert_false(fs::exists(at.root / "t"));
  at.bucket->remove("absent");
  at.bucket->withdraw("absent");
  at.bucket->settle("absent");
  assert_true(at.bucket->remove_matching("absent", {"*"}).empty());
  assert_true(at.keys().empty());
  assert_int_equal(at.left_on(), 0);
}

void ids_cannot_leave_the_prefix_nor_mix(void **state) {
  BucketFixture &at = bucket_of(state);
  for (const char *id : {"", ".", "..", "../victim", "one/../../victim", ".detcore"}) {
    assert_throws(Code::invalid, "storage id", [&] { at.bucket->begin(id); });
    assert_throws(Code::invalid, "storage id", [&] { at.bucket->resume(id, {}); });
    assert_throws(Code::invalid, "storage id", [&] { at.bucket->remove(id); });
    assert_throws(Code::invalid, "storage id", [&] { at.bucket->withdraw(id); });
    assert_throws(Code::invalid, "storage id", [&] { at.bucket->list(id); });
  }
  at.save("abc", at.sample());
  at.save("abcd", at.sample());
  assert_equal(at.bucket->list("abc"), sample_resources);
  at.bucket->remove("abc");
  at.bucket->restore("abcd", nullptr, true);
}

void names_that_no_object_can_have_are_refused(void **state) {
  BucketFixture &at = bucket_of(state);
  const std::pair<std::string, const char *> rows[] = {
      {"two\nlines", "control character"},
      {"latin-\xe9", "UTF-8"},
      {".detcore-manifest.json/x", ""},
      {std::string(200, 'd') + "/" + std::string(200, 'e') + "/" + std::string(200, 'f') + "/" +
           std::string(200, 'g') + "/" + std::string(200, 'h') + "/" + std::string(100, 'i'),
       "may have 1024"},
  };
  for (const auto &[name, fragment] : rows) {
    if (*fragment == 0) continue;
    at.file("d/" + name);
    const auto writer = at.bucket->begin("one");
    assert_throws(Code::invalid, fragment, [&] { writer->add(at.root / "d", std::nullopt); });
    writer->abort();
    storage::remove_tree(at.root / "d");
  }
  at.file("d/Name", "1");
  at.file("d/name", "2");
  at.save("one", at.root / "d");
  assert_string_equal(read_file(at.bucket->restore("one", nullptr, true)->path() / "Name").c_str(),
                      "1");
}

void a_checkpoint_of_another_program_is_read_by_listing(void **state) {
  BucketFixture &at = bucket_of(state);
  const auto put = [&](const std::string &key, const std::string &text) {
    at.store->put("some/prefix/" + key, std::make_shared<TextRange>("it", text), false);
  };
  put("theirs/model", "weights");
  put("theirs/sub/file", "12345");
  put("theirs/empty/", "");
  const Resources expected{{"model", 7}, {"sub/", 0}, {"sub/file", 5}, {"empty/", 0}};
  assert_equal(at.bucket->list("theirs"), expected);
  at.bucket->download("theirs", at.root / "t", nullptr, true);
  assert_equal(storage::list_directory(at.root / "t"), expected);
  assert_throws(Code::corrupt, "its manifest is missing", [&] {
    at.bucket->download("theirs", at.root / "t", {nullptr, true, [] { return true; }});
  });
  put("theirs/../../etc/passwd", "x");
  assert_throws(Code::corrupt, "leads out of it", [&] { at.bucket->list("theirs"); });
}

void damage_is_told_and_leaves_no_file(void **state) {
  BucketFixture &at = bucket_of(state);
  at.save("one", at.sample());
  const fs::path object = at.store->object("some/prefix/one/root.txt");
  const auto refuses = [&](const char *fragment) {
    assert_throws(Code::corrupt, fragment,
                  [&] { at.bucket->download("one", at.root / "t", nullptr, true); });
    assert_false(fs::exists(at.root / "t/root.txt"));
    assert_throws(Code::corrupt, fragment, [&] { at.bucket->restore("one", nullptr, true); });
    assert_int_equal(at.left_on(), 0);
  };
  const auto become = [&](const std::string &text) {
    write_all(open_file(object, O_WRONLY | O_CREAT | O_TRUNC).get(), text, "object");
  };
  become("root fjle");
  refuses("checksum");
  become("root file and more");
  refuses("more than 9 bytes");
  become("root");
  refuses("4 bytes instead of 9");
  become("");
  refuses("0 bytes instead of 9");
  fs::remove(object);
  refuses("missing");
  const fs::path manifest = at.store->object("some/prefix/one/.detcore-manifest.json");
  write_all(open_file(manifest, O_WRONLY | O_TRUNC).get(), "{}", "manifest");
  refuses("manifest");
}

// Each is told before anything is made of it: no room, no memory, no file.
void sizes_that_are_none_are_damage(void **state) {
  BucketFixture &at = bucket_of(state);
  at.save("one", at.sample());
  const fs::path manifest = at.store->object("some/prefix/one/.detcore-manifest.json");
  const std::string text = read_file(manifest);
  const std::string size = "\"root.txt\",9,";
  assert_true(text.find(size) != text.npos);
  for (const char *other : {"-1", "4611686018427387904", "1099511627776", "20000000000", "9.5",
                            "18446744073709551616", "\"9\"", "null", "9223372036854775808"}) {
    std::string changed = text;
    changed.replace(changed.find(size), size.size(), "\"root.txt\"," + std::string(other) + ",");
    write_all(open_file(manifest, O_WRONLY | O_TRUNC).get(), changed, "manifest");
    for (const bool checksums : {true, false})
      assert_throws(Code::corrupt, "damaged",
                    [&] { at.bucket->download("one", at.root / "t", nullptr, checksums); });
    assert_false(fs::exists(at.root / "t/root.txt"));
  }
  for (const auto &[mode, other] :
       {std::pair("420", "512"), {"420", "-1"}, {"420", "\"x\""}, {"420", "1e3"}}) {
    std::string changed = text;
    const size_t found = changed.find("," + std::string(mode) + ",");
    if (found == changed.npos) continue;  // another umask
    changed.replace(found + 1, 3, other);
    write_all(open_file(manifest, O_WRONLY | O_TRUNC).get(), changed, "manifest");
    assert_throws(Code::corrupt, "damaged", [&] { at.bucket->list("one"); });
  }
}

// Nobody lists all of a million objects to say that their manifest is gone.
void a_missing_manifest_is_told_by_one_page(void **state) {
  BucketFixture &at = bucket_of(state);
  at.save("one", at.sample());
  at.store->remove({"some/prefix/one/.detcore-manifest.json"});
  size_t listed = 0;
  at.store->each_listed = [&] { ++listed; };
  assert_throws(Code::corrupt, "manifest is missing", [&] {
    at.bucket->restore("one", {nullptr, true, [] { return true; }});
  });
  assert_throws(Code::unsupported, "manifest",
                [&] { storage::verify_checkpoint(*at.bucket, "one"); });
  assert_int_equal(listed, 2);
  at.store->each_listed = nullptr;
  assert_throws(Code::not_found, "two", [&] { storage::verify_checkpoint(*at.bucket, "two"); });
}

// Nor to remove them: their keys come and go page by page.
void a_removal_lists_no_more_than_it_removes(void **state) {
  BucketFixture &at = bucket_of(state);
  at.save("one", at.sample());
  at.store->remove({"some/prefix/one/.detcore-manifest.json"});
  const size_t objects = at.keys().size();
  assert_true(objects > 1);
  size_t listed = 0;
  at.store->each_listed = [&] { ++listed; };
  at.bucket->withdraw("one");
  assert_int_equal(listed, 1);
  at.bucket->remove("one");
  assert_int_equal(listed, 1 + objects);
  at.bucket->settle("one");
  at.store->each_listed = nullptr;
  assert_true(at.keys().empty());
}

void a_damaged_manifest_keeps_nobody_from_a_removal(void **state) {
  BucketFixture &at = bucket_of(state);
  at.save("one", at.sample());
  at.store->put("some/prefix/one/.detcore-manifest.json",
                std::make_shared<TextRange>("it", "no JSON"), false);
  assert_throws(Code::corrupt, "manifest", [&] { at.bucket->list("one"); });
  at.bucket->remove("one");
  assert_true(at.keys().empty());
}

void a_probe_stores_one_object_and_leaves_none(void **state) {
  BucketFixture &at = bucket_of(state);
  storage::require_usable(*at.bucket);
  assert_true(at.keys().empty());
  for (const char *refused : {"put", "get", "remove"}) {
    at.store->before = [&](const std::string &call, const std::string &) {
      if (call == refused) throw Error(Code::access, "the store: access denied");
    };
    assert_throws(Code::access, "before training begins",
                  [&] { storage::require_usable(*at.bucket); });
  }
}

void globs_remove_what_they_match(void **state) {
  BucketFixture &at = bucket_of(state);
  struct Row {
    std::vector<std::string> globs;
    Resources remaining;
  };
  Resources no_empty = sample_resources;
  no_empty.erase("empty_dir/");
  const Row rows[] = {
      {{"empty_dir/*", "subdir/*"}, {{"empty_dir/", 0}, {"subdir/", 0}, {"root.txt", 9}}},
      {{"empty_dir"}, no_empty},
      {{"subdir"}, {{"root.txt", 9}, {"empty_dir/", 0}}},
      {{"**/*.txt"}, {{"empty_dir/", 0}, {"subdir/", 0}}},
      {{"**/*"}, {}},
      {{"*"}, {}},
      {{}, sample_resources},
  };
  for (const Row &row : rows) {
    at.save("one", at.sample());
    assert_equal(at.bucket->remove_matching("one", row.globs), row.remaining);
    if (row.remaining.empty()) {
      assert_true(at.keys().empty());
    } else {
      assert_equal(storage::list_directory(at.bucket->restore("one", nullptr, true)->path()),
                   row.remaining);
      at.bucket->remove("one");
    }
  }
}

void validation_leaves_nothing_behind(void **state) {
  BucketFixture &at = bucket_of(state);
  storage::validate_storage(*at.bucket);
  assert_true(at.keys().empty());
  assert_int_equal(at.left_on(), 0);
}

void writer_keeps_to_its_order(void **state) {
  BucketFixture &at = bucket_of(state);
  const auto writer = at.bucket->begin("one");
  assert_throws(Code::state, "not committed", [&] { writer->announced(); });
  assert_throws(Code::conflict, "being written", [&] { at.bucket->begin("one"); });
  assert_throws(Code::busy, "writes it", [&] { at.bucket->resume("one", {}); });
  writer->commit();
  assert_throws(Code::state, "already", [&] { writer->commit(); });
  assert_throws(Code::state, "already", [&] { writer->add(at.sample(), std::nullopt); });
  assert_throws(Code::conflict, "taken", [&] { at.bucket->begin("one"); });
  writer->announced();
  assert_throws(Code::state, "delete it", [&] { writer->abort(); });
  assert_true(at.bucket->list("one").empty());
}

void abort_removes_what_was_written_or_committed(void **state) {
  BucketFixture &at = bucket_of(state);
  const auto staged = at.bucket->begin("staged");
  staged->add(at.sample(), std::nullopt);
  staged->put("more", "x");
  staged->abort();
  staged->abort();
  assert_throws(Code::state, "aborted", [&] { staged->commit(); });
  const auto committed = at.bucket->begin("committed");
  committed->add(at.sample(), std::nullopt);
  committed->commit();
  committed->abort();
  { const auto dropped = at.bucket->begin("dropped"); }
  assert_true(at.keys().empty());
  assert_int_equal(at.left_on(), 0);
}

void a_store_without_markers_keeps_empty_directories(void **state) {
  BucketFixture &at = bucket_of(state);
  at.store->keeps = false;
  at.save("one", at.sample());
  for (const std::string &key : at.keys()) assert_false(key.ends_with('/'));
  assert_equal(storage::list_directory(at.bucket->restore("one", nullptr, true)->path()),
               sample_resources);
}

}  // namespace

}  // namespace det::cloud

int test_bucket() {
  using namespace det::cloud;
  const CMUnitTest tests[] = {
      BUCKET_TEST(checkpoint_lives_from_begin_to_remove),
      BUCKET_TEST(what_was_added_comes_back),
      BUCKET_TEST(large_files_go_in_parts),
      BUCKET_TEST(add_takes_exactly_the_given_paths),
      BUCKET_TEST(add_of_nothing_makes_an_empty_checkpoint),
      BUCKET_TEST(add_of_a_path_that_is_not_there_names_it),
      BUCKET_TEST(what_lies_in_the_path_replaces_what_was_added),
      BUCKET_TEST(selector_limits_a_download_and_a_restore),
      BUCKET_TEST(unknown_ids_are_not_found),
      BUCKET_TEST(ids_cannot_leave_the_prefix_nor_mix),
      BUCKET_TEST(names_that_no_object_can_have_are_refused),
      BUCKET_TEST(a_checkpoint_of_another_program_is_read_by_listing),
      BUCKET_TEST(damage_is_told_and_leaves_no_file),
      BUCKET_TEST(sizes_that_are_none_are_damage),
      BUCKET_TEST(a_missing_manifest_is_told_by_one_page),
      BUCKET_TEST(a_removal_lists_no_more_than_it_removes),
      BUCKET_TEST(a_damaged_manifest_keeps_nobody_from_a_removal),
      BUCKET_TEST(a_probe_stores_one_object_and_leaves_none),
      BUCKET_TEST(globs_remove_what_they_match),
      BUCKET_TEST(validation_leaves_nothing_behind),
      BUCKET_TEST(writer_keeps_to_its_order),
      BUCKET_TEST(abort_removes_what_was_written_or_committed),
      BUCKET_TEST(a_store_without_markers_keeps_empty_directories),
  };
  return cmocka_run_group_tests_name("checkpoints in a bucket", tests, nullptr, nullptr);
}
