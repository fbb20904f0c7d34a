// Deduplicated checkpoints in a bucket: what is sent, what comes back, what goes; and who dies, or
// comes late, at any call.
#include <sys/wait.h>

#include <atomic>
#include <functional>
#include <set>
#include <thread>

#include "core/base/clock.h"
#include "core/base/process/process.h"
#include "core/cloud/checkpoints/bucket_chunks.h"
#include "tests/assert_equal.h"
#include "tests/cloud/bucket_fixture.h"
#include "tests/storage/chunk_files.h"

namespace det::cloud {

namespace {

using storage::random_bytes;

const std::string chunks_of_bucket = "some/prefix/.detcore/chunks/";

struct ChunkBucket : BucketFixture {
  ChunkBucket() { bucket = open_deduplicating(); }

  std::unique_ptr<CloudStorage> open_deduplicating(const std::string &machine = "machine") const {
    CloudOptions options{store, "some/prefix", root / machine, Json{{"type", "s3"}}};
    options.deduplicate = true;
    return std::make_unique<CloudStorage>(std::move(options), logger);
  }

  // model.bin (1 MiB), sub/other.bin (100 KiB), small.txt
  fs::path model(unsigned seed = 1) const {
    file("model/model.bin", random_bytes(1 << 20, seed));
    file("model/sub/other.bin", random_bytes(100 << 10, seed + 1));
    file("model/small.txt", "small");
    return root / "model";
  }

  void save_model(const std::string &id) const { save(id, root / "model"); }

  std::set<std::string> below(const std::string &part) const {
    std::set<std::string> found;
    for (const std::string &key : keys())
      if (key.starts_with(chunks_of_bucket + part))
        found.insert(key.substr(chunks_of_bucket.size() + part.size()));
    return found;
  }
  std::set<std::string> stored() const { return below("data/"); }
  std::set<std::string> notes() const { return below("notes/"); }

  std::set<std::string> named() const {
    std::set<std::string> names;
    for (const std::string &key : keys())
      if (key.ends_with("/.detcore-chunks/list"))
        for (const auto &[path, file] : storage::unpack_chunk_list(read_file(store->object(key))))
          for (const storage::Chunk &chunk : file.chunks) names.insert(to_text(chunk.name));
    return names;
  }

  std::string restored(const std::string &id, const std::string &path) const {
    return read_file(bucket->restore(id, nullptr, true)->path() / path);
  }

  void is_whole(const std::string &id) const {
    const auto reader = bucket->restore(id, nullptr, true);
    for (const char *name : {"model.bin", "sub/other.bin", "small.txt"})
      assert_true(read_file(reader->path() / name) == read_file(root / "model" / name));
  }
};

const Resources model_resources{
    {"model.bin", 1 << 20}, {"small.txt", 5}, {"sub/", 0}, {"sub/other.bin", 100 << 10}};

ChunkBucket &chunk_bucket(void **state) { return *static_cast<ChunkBucket *>(*state); }
int make_chunk_bucket(void **state) {
  *state = new ChunkBucket;
  return 0;
}
int drop_chunk_bucket(void **state) {
  delete static_cast<ChunkBucket *>(*state);
  return 0;
}

void it_comes_back_as_plain_files(void **state) {
  ChunkBucket &at = chunk_bucket(state);
  assert_equal(at.save("one", at.model()), model_resources);
  assert_equal(at.bucket->list("one"), model_resources);
  assert_false(at.store->find("some/prefix/one/model.bin").has_value());
  assert_true(at.store->find("some/prefix/one/small.txt").has_value());
  at.is_whole("one");
  at.open()->download("one", at.root / "target", nullptr, true);  // whatever the option says
  assert_equal(storage::list_directory(at.root / "target"), model_resources);
  assert_equal(at.stored(), at.named());
  assert_true(at.notes().empty());
  assert_equal(*at.bucket->read("one", "small.txt"), "small");
  assert_false(at.bucket->read("one", "absent").has_value());
  // Only what is asked for.
  size_t fetched = 0;
  at.store->before = [&](const std::string &call, const std::string &key) {
    fetched += call == "get" && key.starts_with(chunks_of_bucket + "data/");
  };
  at.bucket->restore(
      "one", [](const std::string &path) { return path == "sub/other.bin"; }, true);
  assert_true(fetched > 0 && fetched < at.stored().size());
}

void a_second_one_sends_only_what_changed(void **state) {
  ChunkBucket &at = chunk_bucket(state);
  at.save("one", at.model());
  const size_t before = at.stored().size();
  at.save_model("same");
  assert_int_equal(at.stored().size(), before);
  std::string bytes = read_file(at.root / "model/model.bin");
  at.file("model/model.bin", bytes.replace(1 << 19, 10, "0123456789"));
  at.save_model("two");
  const size_t after = at.stored().size();
  assert_true(after > before && after < before + 3);
  at.bucket = at.open_deduplicating();  // which remembers nothing
  at.save_model("three");
  assert_int_equal(at.stored().size(), after);
  at.is_whole("two");
  at.is_whole("three");
}

void equal_chunks_of_one_save_are_sent_once(void **state) {
  ChunkBucket &at = chunk_bucket(state);
  at.file("model/zeros", std::string(8 << 20, '\0'));
  std::atomic<size_t> sent{0};
  at.store->before = [&](const std::string &call, const std::string &key) {
    sent += call == "put" && key.starts_with(chunks_of_bucket + "data/");
  };
  at.save_model("one");
  assert_int_equal(sent, 1);
  assert_true(at.restored("one", "zeros") == std::string(8 << 20, '\0'));
}

void what_is_removed_takes_its_chunks_along(void **state) {
  ChunkBucket &at = chunk_bucket(state);
  at.save("one", at.model());
  std::string bytes = read_file(at.root / "model/model.bin");
  at.file("model/model.bin", bytes.replace(1 << 19, 4, "1234"));
  at.save_model("two");
  at.bucket->remove("one");
  at.open()->reclaim();
  assert_equal(at.stored(), at.named());
  at.is_whole("two");
  const Resources rest{{"small.txt", 5}, {"sub/", 0}, {"sub/other.bin", 100 << 10}};
  assert_equal(at.bucket->remove_matching("two", {"model.bin"}), rest);
  at.bucket->reclaim();
  assert_int_equal(at.stored().size(), 1);
  assert_equal(storage::list_directory(at.bucket->restore("two", nullptr, true)->path()), rest);
  at.bucket->remove("two");
  at.bucket->reclaim();
  assert_true(at.keys().empty());
}

void what_several_machines_bring_is_one_checkpoint(void **state) {
  ChunkBucket &at = chunk_bucket(state);
  const fs::path source = at.model();
  const auto owner = at.bucket->begin("one");
  const auto elsewhere = at.open_deduplicating("another");
  const auto guest = elsewhere->join("one");
  guest->add(source, std::vector<std::string>{"model.bin"});
  const std::string share = guest->finish({});
  owner->add(source, std::vector<std::string>{"small.txt", "sub/other.bin"});
  at.open()->reclaim();
  assert_equal(owner->commit({owner->finish({}), share}), model_resources);
  owner->announced();
  at.is_whole("one");
  assert_equal(at.stored(), at.named());
  assert_true(at.notes().empty());
}

void the_last_file_of_a_name_counts(void **state) {
  ChunkBucket &at = chunk_bucket(state);
  at.file("later/model.bin", "small now");
  at.file("later/small.txt", random_bytes(100 << 10, 6));
  const auto writer = at.bucket->begin("one");
  writer->add(at.model(), std::nullopt);
  writer->add(at.root / "later", std::nullopt);
  writer->put("put.bin", random_bytes(90 << 10, 7));
  writer->commit();
  writer->announced();
  assert_true(at.restored("one", "model.bin") == "small now");
  assert_true(at.restored("one", "small.txt") == random_bytes(100 << 10, 6));
  assert_true(at.restored("one", "put.bin") == random_bytes(90 << 10, 7));
}

void damage_is_found_and_the_file_is_named(void **state) {
  ChunkBucket &at = chunk_bucket(state);
  at.file("model/dir/model.bin", random_bytes(1 << 20, 1));
  at.save_model("one");
  const fs::path chunk = at.store->object(chunks_of_bucket + "data/" + *at.stored().begin());
  const std::string good = read_file(chunk);
  const auto is_found = [&](const std::string &bytes, bool checksums) {
    at.file(fs::relative(chunk, at.root), bytes);
    assert_throws(Code::corrupt, "dir/model.bin",
                  [&] { at.bucket->restore("one", nullptr, checksums); });
  };
  std::string bad = good;
  bad[good.size() / 2] ^= 1;
  is_found(bad, true);
  is_found(good.substr(1), false);
  is_found(good + "1", false);
  fs::remove(chunk);
  assert_throws(Code::corrupt, "dir/model.bin", [&] { at.bucket->restore("one", nullptr, false); });
  at.file(fs::relative(chunk, at.root), good);
  const fs::path list = at.store->object("some/prefix/one/.detcore-chunks/list");
  at.file(fs::relative(list, at.root), read_file(list).substr(9));
  assert_throws(Code::corrupt, "list", [&] { at.bucket->restore("one", nullptr, true); });
  fs::remove(at.store->object("some/prefix/one/.detcore-manifest.json"));
  assert_throws(Code::corrupt, "manifest is missing",
                [&] { at.bucket->restore("one", nullptr, true); });
  at.bucket->remove("one");
  at.bucket->reclaim();
  assert_true(at.keys().empty());
}

// As a program does at its start, whose master knows "old" and no other checkpoint.
void start_anew(const ChunkBucket &at) {
  const auto next = at.open();
  for (const std::string &id : next->sweep()) {
    if (id != "old") next->remove(id);
    next->settle(id);
  }
  next->reclaim();
}

void only_the_old_one_is_left(const ChunkBucket &at, size_t keys) {
  assert_int_equal(at.keys().size(), keys);
  assert_equal(at.stored(), at.named());
  assert_true(at.notes().empty());
}

void death_at_any_call_of_a_save_loses_and_leaves_no_chunk(void **state) {
  ChunkBucket &at = chunk_bucket(state);
  at.save("old", at.model());
  const size_t keys = at.keys().size();
  std::string bytes = read_file(at.root / "model/model.bin");
  at.file("model/model.bin", bytes.replace(1 << 19, 4, "1234"));
  bool is_over = false;
  for (int step = 0; !is_over; ++step) {
    is_over = survives(*at.store, step, [&] { at.save_model("one"); });
    bool is_visible = false;
    try {
      is_visible = !at.bucket->list("one").empty();
    } catch (const Error &error) {
      assert_int_equal(error.code, Code::not_found);
    }
    if (is_visible) at.is_whole("one");
    start_anew(at);
    if (is_over) at.bucket->remove("one");
    start_anew(at);
    only_the_old_one_is_left(at, keys);
    at.bucket->restore("old", nullptr, true);
    assert_true(is_over || step < 100);
  }
}

void death_at_any_call_of_a_collection_is_made_good(void **state) {
  ChunkBucket &at = chunk_bucket(state);
  at.save("old", at.model());
  const size_t keys = at.keys().size();
  const std::string old = read_file(at.root / "model/model.bin");
  bool is_over = false;
  for (int step = 0; !is_over; ++step) {
    std::string bytes = old;
    at.file("model/model.bin", bytes.replace(1 << 19, 4, "1234"));
    at.save_model("one");
    at.file("model/model.bin", old);
    is_over = survives(*at.store, step, [&] {
      at.bucket->remove("one");
      at.bucket->reclaim();
    });
    start_anew(at);  // the master has forgotten it
    at.bucket->remove("one");
    start_anew(at);
    only_the_old_one_is_left(at, keys);
    at.is_whole("old");
  }
}

// At any call of a save, the checkpoint whose chunks it counts on goes, and they are collected.
void a_collection_within_a_save_leaves_it_whole(void **state) {
  ChunkBucket &at = chunk_bucket(state);
  at.model();
  for (int step = 0;; ++step) {
    at.save_model("old");
    std::atomic<int> left{step};
    at.store->before = [&](const std::string &, const std::string &) {
      if (left-- != 0) return;
      const auto other = at.open();
      other->remove("old");
      other->reclaim();
    };
    at.save_model("one");
    at.store->before = nullptr;
    at.is_whole("one");
    at.bucket->remove("one");
    at.bucket->remove("old");
    for (int i = 0; i < 2; ++i) at.bucket->reclaim();
    assert_true(at.keys().empty());
    if (left >= 0) break;
  }
}

// At any call of a collection another is done from its beginning to its end, and a save after it.
void a_late_collection_removes_nothing_that_came_after_it(void **state) {
  ChunkBucket &at = chunk_bucket(state);
  at.model();
  for (int step = 0;; ++step) {
    at.save_model("old");
    at.bucket->remove("old");
    std::atomic<int> left{step};
    at.store->before = [&](const std::string &, const std::string &) {
      if (left-- != 0) return;
      at.open()->reclaim();
      at.save_model("one");
    };
    at.open()->reclaim();
    at.store->before = nullptr;
    if (left >= 0) break;
    at.is_whole("one");
    at.bucket->remove("one");
    for (int i = 0; i < 2; ++i) at.bucket->reclaim();
    assert_true(at.keys().empty());
  }
}

void savers_and_collectors_go_on_at_once(void **state) {
  ChunkBucket &at = chunk_bucket(state);
  at.model();
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      const auto collector = at.open();
      while (!is_over) collector->reclaim();
    });
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&at, i] {
      const auto saver = at.open_deduplicating();
      for (int round = 0; round < 12; ++round) {
        const std::string id = std::to_string(i) + "-" + std::to_string(round);
        const auto writer = saver->begin(id);
        writer->add(at.root / "model", std::nullopt);
        writer->commit();
        writer->announced();
        saver->download(id, at.root / ("target-" + id), nullptr, true);
        saver->remove(id);
      }
    });
  for (size_t i = threads.size(); i-- > 2;) threads[i].join();
  is_over = true;
  for (size_t i = 0; i < 2; ++i) threads[i].join();
  for (int i = 0; i < 3; ++i) at.bucket->reclaim();
  assert_true(at.keys().empty());
}

// Of another machine, which cannot be asked.
void who_was_given_up_notices_before_it_has_a_list(void **state) {
  ChunkBucket &at = chunk_bucket(state);
  at.model();
  at.save_model("old");
  ProcessIdentity elsewhere = ProcessIdentity::current();
  elsewhere.boot_id = "another";
  const auto age_savers = [&](int days) {
    at.store->modified_ms = int64_t{100} * 24 * 3600 * 1000;  // the store's clock, far from ours
    for (const std::string &note : at.notes())
      if (note.starts_with("saver-")) {
        const std::string key = chunks_of_bucket + "notes/" + note;
        at.file(fs::relative(at.store->object(key), at.root), to_wire(elsewhere.to_json()));
        at.store->modified_of[key] = at.store->modified_ms - int64_t{days} * 24 * 3600 * 1000;
      }
  };
  for (const int days : {6, 8}) {
    const auto writer = at.bucket->begin("one");
    bool is_done = false;
    at.store->before = [&](const std::string &call, const std::string &key) {
      if (is_done || call != "put" || !key.starts_with(chunks_of_bucket + "lists/one/")) return;
      is_done = true;
      age_savers(days);
      const auto other = at.open();
      other->remove("old");
      other->reclaim();
    };
    if (days == 8)
      assert_throws(Code::conflict, "taken it for abandoned; save again",
                    [&] { writer->add(at.root / "model", std::nullopt); });
    else writer->add(at.root / "model", std::nullopt);
    at.store->before = nullptr;
    if (days == 8) break;
    writer->commit();
    writer->announced();
    at.is_whole("one");
    at.save_model("old");
    at.bucket->remove("one");
  }
  for (int i = 0; i < 2; ++i) at.bucket->reclaim();
  assert_true(at.stored().empty() && at.notes().empty());
}

// As by a rank whose owner has aborted.
void lists_of_no_checkpoint_go(void **state) {
  ChunkBucket &at = chunk_bucket(state);
  at.model();
  const auto guest = at.bucket->join("one");
  guest->add(at.root / "model", std::nullopt);
  at.save_model("two");
  at.bucket->remove("two");
  at.bucket->reclaim();
  assert_true(at.stored().empty() && at.below("lists/").empty());
}

void an_aborted_or_failed_one_leaves_nothing(void **state) {
  ChunkBucket &at = chunk_bucket(state);
  at.model();
  auto writer = at.bucket->begin("one");
  writer->add(at.root / "model", std::nullopt);
  writer->abort();
  at.bucket->reclaim();
  assert_true(at.keys().empty());
  std::atomic<int> puts{0};
  at.store->before = [&](const std::string &call, const std::string &key) {
    if (call == "put" && key.starts_with(chunks_of_bucket + "data/") && ++puts == 3)
      throw Error(Code::unavailable, "the network is down");
  };
  writer = at.bucket->begin("two");
  assert_throws(Code::unavailable, "network",
                [&] { writer->add(at.root / "model", std::nullopt); });
  writer->abort();
  at.bucket->reclaim();
  assert_true(at.keys().empty());
}

void a_copy_to_another_prefix_takes_the_long_way(void **state) {
  ChunkBucket &at = chunk_bucket(state);
  at.save("one", at.model());
  CloudStorage other(CloudOptions{at.store, "other", at.root / "machine", Json{{"type", "s3"}}},
                     at.logger);
  assert_false(at.bucket->copy_to(other, "one", nullptr));
}

#define CHUNKS_TEST(name) \
  cmocka_unit_test_setup_teardown(name, make_chunk_bucket, drop_chunk_bucket)

}  // namespace

}  // namespace det::cloud

int test_bucket_chunks() {
  using namespace det::cloud;
  const CMUnitTest tests[] = {
      CHUNKS_TEST(it_comes_back_as_plain_files),
      CHUNKS_TEST(a_second_one_sends_only_what_changed),
      CHUNKS_TEST(equal_chunks_of_one_save_are_sent_once),
      CHUNKS_TEST(what_is_removed_takes_its_chunks_along),
      CHUNKS_TEST(what_several_machines_bring_is_one_checkpoint),
      CHUNKS_TEST(the_last_file_of_a_name_counts),
      CHUNKS_TEST(damage_is_found_and_the_file_is_named),
      CHUNKS_TEST(death_at_any_call_of_a_save_loses_and_leaves_no_chunk),
      CHUNKS_TEST(death_at_any_call_of_a_collection_is_made_good),
      CHUNKS_TEST(a_collection_within_a_save_leaves_it_whole),
      CHUNKS_TEST(a_late_collection_removes_nothing_that_came_after_it),
      CHUNKS_TEST(savers_and_collectors_go_on_at_once),
      CHUNKS_TEST(who_was_given_up_notices_before_it_has_a_list),
      CHUNKS_TEST(lists_of_no_checkpoint_go),
      CHUNKS_TEST(an_aborted_or_failed_one_leaves_nothing),
      CHUNKS_TEST(a_copy_to_another_prefix_takes_the_long_way),
  };
  return cmocka_run_group_tests_name("chunks in a bucket", tests, nullptr, nullptr);
}
