// Saving and removing die at every single call to the store; and what a sweep makes of it.
#include <atomic>
#include <functional>
#include <set>

#include "core/base/clock.h"
#include "core/base/process/process.h"
#include "tests/cloud/bucket_fixture.h"

namespace det::cloud {

namespace {

constexpr size_t part = size_t{64} << 10;

// With a file that goes in parts.
fs::path source_of(const BucketFixture &at) {
  at.store->limits_of_store.put_max = part;
  at.file("sample/large", std::string(3 * part, 'l'));
  return at.sample();
}

void save_one(const BucketFixture &at, const fs::path &source) {
  const auto writer = at.bucket->begin("one");
  writer->add(source, std::nullopt);
  writer->put("more", "text");
  writer->commit();
  writer->announced();
}

// As two ranks do in the background, of which one has a file of its own.
void save_two(const BucketFixture &at, const fs::path &source) {
  const auto owner = at.bucket->begin("one"), other = at.bucket->join("one");
  owner->promise_share(0);
  other->promise_share(1);
  other->put("more", "text");
  other->leave_share(1, other->finish({"more"}));
  owner->copy(source, std::nullopt);
  owner->commit({*owner->take_share(1)});
  owner->announced();
}

void nothing_is_left(const BucketFixture &at) {
  assert_true(at.keys().empty());
  assert_int_equal(at.store->uploads(), 0);
  assert_int_equal(at.left_on(), 0);
}

// As a program does at its start, whose master knows no checkpoint.
void start_anew(const BucketFixture &at) {
  const auto next = at.open();
  for (const std::string &id : next->sweep()) {
    assert_string_equal(id.c_str(), "one");
    next->remove(id);
    next->settle(id);
  }
  assert_true(next->sweep().empty());
}

void check_deaths_of(void **state, void (&save)(const BucketFixture &, const fs::path &)) {
  BucketFixture &at = bucket_of(state);
  const fs::path source = source_of(at);
  size_t visible = 0;
  int step = 0;
  for (; !survives(*at.store, step, [&] { save(at, source); }); ++step) {
    const bool is_begun = !at.keys().empty();
    at.log.clear();
    storage::Resources found;
    try {
      found = at.bucket->list("one");
    } catch (const Error &error) {
      assert_int_equal(error.code, Code::not_found);
    }
    if (!found.empty()) {
      at.bucket->restore("one", nullptr, true);
      ++visible;
    }
    start_anew(at);
    nothing_is_left(at);
    if (is_begun && found.empty()) assert_non_null(strstr(at.log.c_str(), "removed what was left"));
  }
  assert_true(step > 15);
  assert_true(visible >= 2);  // after the manifest, and before its intent went
  assert_int_equal(at.keys().size(), 7);
}

void death_at_any_call_of_a_save_shows_nothing_or_everything(void **state) {
  check_deaths_of(state, save_one);
}

void death_at_any_call_of_a_save_of_ranks_shows_nothing_or_everything(void **state) {
  check_deaths_of(state, save_two);
}

void death_at_any_call_of_a_removal_leaves_everything_or_nothing(void **state) {
  BucketFixture &at = bucket_of(state);
  const fs::path source = source_of(at);
  const std::function<void()> ways[] = {
      [&] { at.bucket->remove("one"); },
      [&] {
        at.bucket->withdraw("one");
        at.bucket->remove("one");
        at.bucket->settle("one");
      },
  };
  for (const auto &remove : ways) {
    bool is_whole = false;
    for (int step = 0;; ++step) {
      if (!is_whole) at.save("one", source);
      is_whole = false;
      if (survives(*at.store, step, remove)) break;
      const auto next = at.open();
      // A master would know what was not withdrawn; the sweep alone finishes what nobody asks
      // about.
      for (const std::string &id : next->sweep()) {
        next->remove(id);
        next->settle(id);
      }
      try {
        is_whole = !at.bucket->list("one").empty();
      } catch (const Error &error) {
        assert_int_equal(error.code, Code::not_found);
      }
      if (is_whole) at.bucket->restore("one", nullptr, true);
      else nothing_is_left(at);
      assert_int_equal(at.store->find("some/prefix/.detcore/pending/one").has_value(), 0);
    }
    nothing_is_left(at);
  }
}

void what_is_being_written_or_removed_is_not_visible(void **state) {
  BucketFixture &at = bucket_of(state);
  const auto writer = at.bucket->begin("one");
  writer->add(at.sample(), std::nullopt);
  const auto elsewhere = at.open("another");
  assert_throws(Code::not_found, "nothing is stored", [&] { elsewhere->list("one"); });
  assert_true(elsewhere->sweep().empty());  // its process lives
  writer->commit();
  writer->announced();
  at.store->before = [&](const std::string &call, const std::string &key) {
    if (call == "remove" && key.ends_with("root.txt"))
      throw Error(Code::unavailable, "the network is down");
  };
  at.bucket->withdraw("one");
  assert_throws(Code::unavailable, "network", [&] { at.bucket->remove("one"); });
  assert_throws(Code::not_found, "nothing is stored", [&] { at.bucket->list("one"); });
  at.bucket->settle("one");
  assert_throws(Code::not_found, "nothing is stored", [&] { elsewhere->list("one"); });
}

// Which its process does not come to tell anybody.
void commit_and_die(BucketFixture &at) {
  const fs::path source = at.sample();
  survives(*at.store, -1, [&] {
    const auto writer = at.bucket->begin("one");
    writer->add(source, std::nullopt);
    writer->commit();
    _exit(0);
  });
}

void what_was_saved_without_a_master_need_not_be_told(void **state) {
  BucketFixture &at = bucket_of(state);
  commit_and_die(at);
  const std::vector<std::string> with_note = at.keys();
  const auto run = at.open();
  run->serve("ours");
  assert_true(run->sweep().empty());
  assert_int_equal(at.keys().size(), with_note.size() - 1);
  at.bucket->restore("one", nullptr, true);
}

void a_sweep_names_the_unannounced_of_its_own_master(void **state) {
  BucketFixture &at = bucket_of(state);
  at.bucket->serve("ours");
  commit_and_die(at);
  const auto theirs = at.open();
  theirs->serve("theirs");
  assert_true(theirs->sweep().empty());
  const auto ours = at.open();
  ours->serve("ours");
  assert_equal(ours->sweep(), std::vector<std::string>{"one"});
  ours->settle("one");
  assert_true(ours->sweep().empty());
  ours->restore("one", nullptr, true);
}

void what_another_machine_left_goes_by_its_age(void **state) {
  BucketFixture &at = bucket_of(state);
  ProcessIdentity elsewhere = ProcessIdentity::current();
  elsewhere.boot_id = "another";
  at.store->put("some/prefix/.detcore/pending/one",
                std::make_shared<TextRange>(
                    "it", to_wire(Json{{"purpose", "writing"}, {"owner", elsewhere.to_json()}})),
                false);
  at.store->put("some/prefix/one/file", std::make_shared<TextRange>("it", "x"), false);
  at.store->modified_ms = now_us() / 1000 - int64_t{6} * 24 * 3600 * 1000;
  at.bucket->sweep();
  assert_int_equal(at.keys().size(), 2);
  at.store->modified_ms -= int64_t{2} * 24 * 3600 * 1000;
  at.bucket->sweep();
  nothing_is_left(at);
}

void orphaned_parts_are_given_up_after_a_week(void **state) {
  BucketFixture &at = bucket_of(state);
  at.store->begin_parts("some/prefix/one/large");
  at.store->begin_parts("elsewhere/large");
  at.store->upload_begun_ms = now_us() / 1000;
  at.bucket->sweep();
  assert_int_equal(at.store->uploads(), 2);
  at.store->upload_begun_ms -= int64_t{8} * 24 * 3600 * 1000;
  at.bucket->sweep();
  assert_int_equal(at.store->uploads(), 1);  // not of this prefix
}

void what_is_to_go_on_is_swept_once_its_files_are_gone(void **state) {
  BucketFixture &at = bucket_of(state);
  const fs::path source = source_of(at);
  survives(*at.store, -1, [&] {
    at.bucket->resume("one", source)->add(source, std::nullopt);
    _exit(0);
  });
  const size_t stored = at.keys().size();
  at.open()->sweep();
  assert_int_equal(at.keys().size(), stored);
  fs::rename(source, at.root / "elsewhere");
  at.open()->sweep();
  nothing_is_left(at);
}

void a_killed_upload_goes_on_from_what_stands(void **state) {
  BucketFixture &at = bucket_of(state);
  const fs::path source = source_of(at);
  std::string large(8 * part, 'l');
  for (size_t i = 0; i < large.size(); i += 1021) large[i] = static_cast<char>(i % 251);
  at.file("sample/large", large);
  for (const size_t parts : {1, 3}) {
    at.store->part_bytes = 0;
    assert_false(survives(*at.store, -1, [&] {
      at.store->before = [&](const std::string &, const std::string &) {
        if (at.store->part_bytes >= parts * part) _exit(9);
      };
      save_one(at, source);
    }));
    const auto next = at.open();
    at.store->part_bytes = 0;
    const auto writer = next->resume("one", {});
    writer->add(source, std::nullopt);
    writer->put("more", "text");
    writer->commit();
    writer->announced();
    assert_true(at.store->part_bytes <= large.size() - parts * part);
    assert_int_equal(at.store->uploads(), 0);
    assert_true(read_file(next->restore("one", nullptr, true)->path() / "large") == large);
    assert_true(next->sweep().empty());
    next->remove("one");
    nothing_is_left(at);
  }
}

void what_was_committed_before_its_process_died_is_committed_again(void **state) {
  BucketFixture &at = bucket_of(state);
  const fs::path source = at.sample();
  survives(*at.store, -1, [&] {
    const auto writer = at.bucket->begin("one");
    writer->add(source, std::nullopt);
    writer->commit();
    _exit(0);
  });
  std::set<std::string> stored;
  at.store->before = [&](const std::string &call, const std::string &key) {
    if (call == "put") stored.insert(key);
  };
  const auto writer = at.bucket->resume("one", {});
  writer->add(source, std::nullopt);
  const Resources resources = writer->commit();
  writer->announced();
  assert_equal(at.bucket->list("one"), resources);
  assert_int_equal(stored.count("some/prefix/one/root.txt"), 0);
}

void a_local_directory_of_a_killed_process_goes(void **state) {
  BucketFixture &at = bucket_of(state);
  survives(*at.store, -1, [&] {
    at.bucket->begin("one")->put("large", "text");
    const auto writer = at.bucket->begin("two");
    writer->put("large", "text");
    _exit(0);
  });
  const auto living = at.bucket->begin("three");
  living->put("x", "y");
  assert_int_equal(at.left_on(), 4);
  at.open()->sweep();
  assert_int_equal(at.left_on(), 2);
  assert_true(fs::exists(living->path() / "x"));
}

void forked_child_does_not_touch_the_checkpoint_of_its_parent(void **state) {
  BucketFixture &at = bucket_of(state);
  auto writer = at.bucket->begin("one");
  writer->put("file", "text");
  assert_true(survives(*at.store, -1, [&] {
    assert_throws(Code::state, "forked child", [&] { writer->commit(); });
    assert_throws(Code::state, "forked child", [&] { writer->abort(); });
    writer.reset();
  }));
  writer->commit();
  at.bucket->restore("one", nullptr, true);
}

}  // namespace

}  // namespace det::cloud

int test_bucket_crash() {
  using namespace det::cloud;
  const CMUnitTest tests[] = {
      BUCKET_TEST(death_at_any_call_of_a_save_shows_nothing_or_everything),
      BUCKET_TEST(death_at_any_call_of_a_save_of_ranks_shows_nothing_or_everything),
      BUCKET_TEST(death_at_any_call_of_a_removal_leaves_everything_or_nothing),
      BUCKET_TEST(what_is_being_written_or_removed_is_not_visible),
      BUCKET_TEST(what_was_saved_without_a_master_need_not_be_told),
      BUCKET_TEST(a_sweep_names_the_unannounced_of_its_own_master),
      BUCKET_TEST(what_another_machine_left_goes_by_its_age),
      BUCKET_TEST(orphaned_parts_are_given_up_after_a_week),
      BUCKET_TEST(what_is_to_go_on_is_swept_once_its_files_are_gone),
      BUCKET_TEST(a_killed_upload_goes_on_from_what_stands),
      BUCKET_TEST(what_was_committed_before_its_process_died_is_committed_again),
      BUCKET_TEST(a_local_directory_of_a_killed_process_goes),
      BUCKET_TEST(forked_child_does_not_touch_the_checkpoint_of_its_parent),
  };
  return cmocka_run_group_tests_name("crashes over a bucket", tests, nullptr, nullptr);
}
