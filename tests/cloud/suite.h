// What every object store must do: run over S3, GCS and Azure alike, against real servers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/base/json.h"
#include "core/cloud/checkpoints/cloud_storage.h"
#include "core/cloud/object_store.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/storage/chunk_files.h"
#include "tests/storage/odd_trees.h"

namespace det::cloud::suite {

// The store under test, and what its server cannot do though it should.
struct Subject {
  std::shared_ptr<ObjectStore> store;
  bool keeps_only_new = true;            // put(only_new) is more than put()
  bool keeps_keys_below_objects = true;  // "a" and "a/b" stand beside each other
  bool keeps_every_key = true;           // also those that no file can be called
};
inline Subject subject;

inline ObjectStore &store() { return *subject.store; }

inline std::shared_ptr<ByteRange> text(const std::string &bytes) {
  return std::make_shared<TextRange>("the test's bytes", bytes);
}

struct Taken : http::BodySink {
  void begin() override { ++begun; }
  void write(const char *bytes, size_t count) override { text.append(bytes, count); }
  std::string text;
  int begun = 0;
};

inline std::string read(const std::string &key, uint64_t offset = 0, uint64_t size = UINT64_MAX,
                        const std::string &version = "") {
  const auto sink = std::make_shared<Taken>();
  store().get(key, offset, size, version, sink);
  assert_int_equal(sink->begun, 1);
  return sink->text;
}

inline std::vector<std::string> keys(const std::string &prefix) {
  std::vector<std::string> found;
  store().list(prefix, [&](const ObjectInfo &object) { found.push_back(object.key); });
  return found;
}

// Leaves nothing of what a test stored below `prefix`.
inline void clear(const std::string &prefix) {
  store().remove(keys(prefix));
  assert_true(keys(prefix).empty());
}

inline void object_is_stored_found_and_removed(void **) {
  assert_false(store().find("whole/one").has_value());
  store().put("whole/one", text("bytes"));
  const auto found = store().find("whole/one");
  assert_true(found.has_value());
  assert_equal(found->key, "whole/one");
  assert_equal(found->size, 5);
  assert_false(found->version.empty());
  assert_true(found->modified_ms > 1'600'000'000'000);
  assert_equal(read("whole/one"), "bytes");
  store().list("whole/", [&](const ObjectInfo &listed) {
    assert_equal(listed.key, found->key);
    assert_equal(listed.size, found->size);
    assert_equal(listed.version, found->version);
  });
  store().put("whole/one", text("others"));
  assert_equal(read("whole/one"), "others");
  store().remove({"whole/one"});
  assert_false(store().find("whole/one").has_value());
  store().remove({"whole/one", "whole/never"});
  expect_error(Code::not_found, [] { read("whole/one"); });
}

inline void any_range_is_read(void **) {
  store().put("range", text("0123456789"));
  assert_equal(read("range", 0, 4), "0123");
  assert_equal(read("range", 7), "789");
  assert_equal(read("range", 7, 100), "789");
  assert_equal(read("range", 9, 1), "9");
  assert_equal(read("range", 10), "");
  store().put("range", text(""));
  assert_equal(read("range"), "");
  assert_equal(read("range", 0, 100), "");
  clear("range");
}

inline void other_version_is_told(void **) {
  store().put("version", text("first"));
  const std::string version = store().find("version")->version;
  assert_equal(read("version", 0, 100, version), "first");
  store().put("version", text("second"));
  expect_error(Code::conflict, [&] { read("version", 0, 100, version); });
  clear("version");
}

inline void new_object_takes_no_other_place(void **) {
  store().put("new", text("first"), true);
  if (subject.keeps_only_new) {
    expect_error(Code::conflict, [] { store().put("new", text("second"), true); });
    assert_equal(read("new"), "first");
  }
  clear("new");
}

// Stored under this very key, and no other is touched by what happens to it; or refused.
inline void check_key(const std::string &key) {
  try {
    store().put(key, text(key));
  } catch (const Error &e) {
    assert_true(e.code == Code::invalid || e.code == Code::unsupported);
    assert_false(subject.keeps_every_key);
    return;
  }
  assert_equal(read(key), key);
  assert_equal(store().find(key)->size, key.size());
  const std::string prefix = key.substr(0, key.find('/') + 1);
  assert_equal(keys(prefix), std::vector<std::string>{key});
  store().remove({key});
  assert_equal(keys(prefix), std::vector<std::string>{});
}

inline void odd_keys_are_kept_as_they_are(void **) {
  for (const char *key : {"k/a b", "k/a+b", "k/a%20b", "k/%", "k/a&b=c;d?e#f", "k/<\"'>", "k/\\n",
                          "k/\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "k/e\xCC\x81", "k/a:b@c!*()~",
                          "k/a/b/c", "k/ a ", "k/ "})
    check_key(key);
}

inline void keys_that_no_file_has_are_kept_or_refused(void **) {
  if (subject.keeps_every_key)
    for (const char *key : {"k/a//b", "k//a", "k/a/./b", "k/a/../b", "k/.."}) check_key(key);
  for (const char *key : {"k/\x01\x1F", "k/line\nfeed\rtab\t"}) {
    const bool strict = std::exchange(subject.keeps_every_key, false);
    check_key(key);
    subject.keeps_every_key = strict;
  }
}

inline void long_key_is_kept_and_a_longer_one_refused(void **) {
  std::string key = "long/";  // file systems take no part that is longer
  while (key.size() < store().limits().key_max) key += key.size() % 200 == 0 ? '/' : 'k';
  check_key(key);
  expect_error(Code::invalid, [&] { store().put(key + "k", text("")); });
}

inline void case_of_keys_counts(void **) {
  store().put("case/Key", text("upper"));
  store().put("case/key", text("lower"));
  assert_equal(read("case/Key"), "upper");
  assert_equal(read("case/key"), "lower");
  assert_equal(keys("case/"), std::vector<std::string>{"case/Key", "case/key"});
  clear("case/");
}

inline void keys_stand_beside_those_below_them(void **) {
  if (!subject.keeps_keys_below_objects) return;
  store().put("below", text("1"));
  store().put("below/one", text("2"));
  store().put("below.two", text("3"));
  assert_equal(keys("below"), std::vector<std::string>{"below", "below.two", "below/one"});
  clear("below");
}

constexpr size_t many = 1003;  // more than a page of any store

template <class Body>
void for_many(const Body &body) {
  std::atomic<size_t> next{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (size_t at = next++; at < many; at = next++) body(at);
    });
  for (std::thread &thread : threads) thread.join();
}

inline void many_keys_are_listed_and_removed(void **) {
  std::vector<std::string> expected;
  for (size_t i = 0; i < many; ++i) expected.push_back("many/" + std::to_string(10'000 + i));
  for_many([&](size_t at) { store().put(expected[at], text("x")); });
  assert_equal(keys("many/"), expected);
  assert_equal(keys("many/1100"),
               std::vector<std::string>{"many/11000", "many/11001", "many/11002"});
  clear("many/");
}

inline std::vector<std::string> some_parts() {
  const uint64_t size = std::max<uint64_t>(store().limits().part_min, 1024);
  return {std::string(size, 'a'), std::string(size, 'b'), "end"};
}

inline void parts_become_an_object_when_they_are_complete(void **) {
  const std::vector<std::string> bytes = some_parts();
  const std::string upload = store().begin_parts("parts/one");
  std::vector<StoredPart> parts;
  for (const int number : {3, 1, 2})  // in any order
    parts.push_back(store().put_part("parts/one", upload, number,
                                     text(bytes[static_cast<size_t>(number) - 1])));
  std::sort(parts.begin(), parts.end(),
            [](const StoredPart &a, const StoredPart &b) { return a.number < b.number; });
  assert_false(store().find("parts/one").has_value());
  assert_true(keys("parts/").empty());

  const std::vector<StoredPart> listed = store().list_parts("parts/one", upload);
  assert_equal(listed.size(), 3);
  for (size_t i = 0; i < listed.size(); ++i) {
    assert_equal(listed[i].number, i + 1);
    assert_equal(listed[i].size, bytes[i].size());
    assert_equal(listed[i].version, parts[i].version);
    if (!listed[i].checksum.empty())
      assert_equal(listed[i].checksum, store().checksum_of(*text(bytes[i])));
  }
  store().complete_parts("parts/one", upload, listed);
  assert_equal(store().find("parts/one")->size, 2 * bytes[0].size() + 3);
  assert_true(read("parts/one") == bytes[0] + bytes[1] + bytes[2]);
  // As where the answer to the first was lost.
  store().complete_parts("parts/one", upload, parts);
  clear("parts/");
}

inline void part_is_replaced_by_its_next(void **) {
  const std::string upload = store().begin_parts("again");
  store().put_part("again", upload, 1, text("first"));
  const StoredPart part = store().put_part("again", upload, 1, text("second"));
  store().complete_parts("again", upload, {part});
  assert_equal(read("again"), "second");
  clear("again");
}

inline void dropped_parts_are_gone(void **) {
  const std::string upload = store().begin_parts("dropped/one");
  store().put_part("dropped/one", upload, 1, text("part"));
  for (const PendingUpload &pending : store().list_uploads("dropped/")) {
    assert_equal(pending.key, "dropped/one");
    assert_equal(pending.upload, upload);
    assert_true(pending.begun_ms > 1'600'000'000'000);
  }
  store().abort_parts("dropped/one", upload);
  store().abort_parts("dropped/one", upload);
  assert_true(store().list_uploads("dropped/").empty());
  assert_false(store().find("dropped/one").has_value());
}

// Others each time that they are read.
struct Restless : ByteRange {
  Restless() : ByteRange("'restless'") {}
  uint64_t size() const override { return 5; }
  size_t read(uint64_t, char *bytes, size_t room) override {
    const size_t count = std::min<size_t>(room, 5);
    std::memset(bytes, 'a' + readings++ % 26, count);
    return count;
  }
  int readings = 0;
};

inline void bytes_that_change_are_told_at_once(void **) {
  const auto bytes = std::make_shared<Restless>();
  const std::string message = expect_error(Code::conflict, [&] { store().put("restless", bytes); });
  assert_true(contains(message, "'restless' changed meanwhile"));
  const std::string upload = store().begin_parts("restless");
  expect_error(Code::conflict, [&] { store().put_part("restless", upload, 1, bytes); });
  store().abort_parts("restless", upload);
}

inline void many_parts_are_listed(void **) {
  const std::string upload = store().begin_parts("many/parts");
  for_many([&](size_t at) {
    store().put_part("many/parts", upload, static_cast<int>(at) + 1, text("x"));
  });
  const std::vector<StoredPart> parts = store().list_parts("many/parts", upload);
  assert_int_equal(parts.size(), many);
  for (size_t i = 0; i < many; ++i) assert_int_equal(parts[i].number, i + 1);
  store().abort_parts("many/parts", upload);
}

// Where the store lists any.
inline void many_uploads_are_listed(void **) {
  const auto key = [](size_t number) { return "uploads/" + std::to_string(10'000 + number); };
  std::vector<std::string> uploads(many);
  for_many([&](size_t at) { uploads[at] = store().begin_parts(key(at)); });
  std::map<std::string, std::string> listed;
  for (const PendingUpload &pending : store().list_uploads("uploads/"))
    listed[pending.key] = pending.upload;
  if (!listed.empty())
    for (size_t i = 0; i < many; ++i) assert_equal(listed[key(i)], uploads[i]);
  for_many([&](size_t at) { store().abort_parts(key(at), uploads[at]); });
  assert_true(store().list_uploads("uploads/").empty());
}

inline void object_is_copied(void **) {
  store().put("copy/a +%", text("bytes"));
  if (store().copy("copy/a +%", "copy/to")) assert_equal(read("copy/to"), "bytes");
  assert_equal(read("copy/a +%"), "bytes");
  clear("copy/");
  expect_error(Code::not_found, [] { store().copy("copy/never", "copy/to"); });
}

// Also with a collection at any time, over listings that show at once what was done.
inline void deduplicated_checkpoints_are_kept_and_go(void **) {
  const storage::Fixture at;
  CloudOptions options{subject.store, "dedup", at.root / "machine", Json{{"type", "s3"}}};
  options.deduplicate = true;
  CloudStorage bucket(options, at.logger);
  std::string bytes = storage::random_bytes(2 << 20, 1);
  const auto save = [&](const std::string &id) {
    at.file("model/dir/model.bin", bytes);
    const auto writer = bucket.begin(id);
    writer->add(at.root / "model", std::nullopt);
    writer->commit();
    writer->announced();
  };
  save("one");
  const size_t before = keys("dedup/.detcore/chunks/data/").size();
  bytes.replace(1 << 20, 4, "1234");
  save("two");
  const size_t after = keys("dedup/.detcore/chunks/data/").size();
  assert_true(after > before && after < before + 3);
  bucket.remove("one");
  bucket.reclaim();
  assert_int_equal(keys("dedup/.detcore/chunks/data/").size(), before);
  const auto reader = bucket.restore("two", nullptr, true);
  assert_true(read_file(reader->path() / "dir/model.bin") == bytes);
  bucket.remove("two");
  bucket.reclaim();
  assert_true(keys("dedup/").empty());
}

inline void odd_trees_come_back(void **) {
  test::Job job(1, 1);
  job.open_storage = [&](int, const std::shared_ptr<Logger> &logger) {
    return std::make_unique<CloudStorage>(
        CloudOptions{subject.store, "trees", job.path("machine"), Json{{"type", "s3"}}}, logger);
  };
  test::odd_trees_come_back_or_are_refused(job, true);
  clear("trees/");
}

inline int run(const char *name) {
  const CMUnitTest tests[] = {
      cmocka_unit_test(object_is_stored_found_and_removed),
      cmocka_unit_test(any_range_is_read),
      cmocka_unit_test(other_version_is_told),
      cmocka_unit_test(new_object_takes_no_other_place),
      cmocka_unit_test(odd_keys_are_kept_as_they_are),
      cmocka_unit_test(keys_that_no_file_has_are_kept_or_refused),
      cmocka_unit_test(long_key_is_kept_and_a_longer_one_refused),
      cmocka_unit_test(case_of_keys_counts),
      cmocka_unit_test(keys_stand_beside_those_below_them),
      cmocka_unit_test(many_keys_are_listed_and_removed),
      cmocka_unit_test(parts_become_an_object_when_they_are_complete),
      cmocka_unit_test(part_is_replaced_by_its_next),
      cmocka_unit_test(dropped_parts_are_gone),
      cmocka_unit_test(bytes_that_change_are_told_at_once),
      cmocka_unit_test(many_parts_are_listed),
      cmocka_unit_test(many_uploads_are_listed),
      cmocka_unit_test(object_is_copied),
      cmocka_unit_test(deduplicated_checkpoints_are_kept_and_go),
      cmocka_unit_test(odd_trees_come_back),
  };
  return cmocka_run_group_tests_name(name, tests, nullptr, nullptr);
}

}  // namespace det::cloud::suite
