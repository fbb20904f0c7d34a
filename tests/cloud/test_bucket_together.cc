// Several ranks save one checkpoint into a bucket, from machines with directories of their own; and
// transfers that end early.
#include <atomic>

#include "core/cloud/request_pool.h"
#include "core/storage/progress.h"
#include "tests/cloud/bucket_fixture.h"

namespace det::cloud {

namespace {

struct Ranks {
  std::unique_ptr<CloudStorage> far;
  std::unique_ptr<storage::CheckpointWriter> owner, near_one, far_one;

  explicit Ranks(const BucketFixture &at)
      : far(at.open("far")),
        owner(at.bucket->begin("one")),
        near_one(at.bucket->join("one")),
        far_one(far->join("one")) {}
};

void write(const std::unique_ptr<storage::CheckpointWriter> &writer, const std::string &name,
           const std::string &text) {
  write_all(open_file(writer->path() / name, O_WRONLY | O_CREAT | O_TRUNC).get(), text, name);
}

void ranks_of_two_machines_make_one_checkpoint(void **state) {
  BucketFixture &at = bucket_of(state);
  {
    Ranks ranks(at);
    assert_string_equal(ranks.owner->path().c_str(), ranks.near_one->path().c_str());
    assert_string_not_equal(ranks.owner->path().c_str(), ranks.far_one->path().c_str());
    write(ranks.owner, "a", "of the owner");
    write(ranks.near_one, "b", "of its neighbour");
    write(ranks.far_one, "c", "of another machine");
    write(ranks.far_one, "same", "same");
    write(ranks.owner, "same", "same");
    fs::create_directory(ranks.far_one->path() / "empty");
    const Resources near_files{{"a", 12}, {"b", 16}, {"same", 4}};
    assert_equal(ranks.near_one->list(), near_files);
    const std::vector<std::string> shares{ranks.owner->finish({"b"}), ranks.near_one->finish({"a"}),
                                          ranks.far_one->finish({"c", "same"})};
    const Resources all{{"a", 12}, {"b", 16}, {"c", 18}, {"empty/", 0}, {"same", 4}};
    assert_equal(ranks.owner->commit(shares), all);
    ranks.owner->announced();
    assert_equal(ranks.far->list("one"), all);
  }
  at.bucket->restore("one", nullptr, true);
  assert_int_equal(at.left_on(), 0);
  assert_int_equal(at.left_on("far"), 0);
}

void machines_that_differ_about_a_file_make_none(void **state) {
  BucketFixture &at = bucket_of(state);
  for (const char *far : {"other", "same length"}) {
    Ranks ranks(at);
    write(ranks.owner, "file", "length same");
    write(ranks.far_one, "file", far);
    const std::vector<std::string> shares{ranks.owner->finish({"file"}),
                                          ranks.far_one->finish({"file"})};
    assert_throws(Code::conflict, "'file' differs", [&] { ranks.owner->commit(shares); });
    assert_true(at.keys().empty());
  }
  Ranks ranks(at);
  write(ranks.owner, "name", "a file");
  fs::create_directory(ranks.far_one->path() / "name");
  write(ranks.far_one, "name/x", "in a directory");
  const std::vector<std::string> shares{ranks.owner->finish({"name"}),
                                        ranks.far_one->finish({"name/x"})};
  assert_throws(Code::conflict, "directory of another", [&] { ranks.owner->commit(shares); });
  assert_true(at.keys().empty());
}

void one_that_joined_commits_nothing_and_leaves_nothing(void **state) {
  BucketFixture &at = bucket_of(state);
  Ranks ranks(at);
  write(ranks.far_one, "c", "x");
  assert_throws(Code::state, "joined it", [&] { ranks.far_one->commit(); });
  ranks.far_one->abort();
  assert_int_equal(at.left_on("far"), 0);
  ranks.near_one.reset();
  assert_true(fs::exists(ranks.owner->path()));
  ranks.owner->abort();
  assert_int_equal(at.left_on(), 0);
  assert_true(at.keys().empty());
}

// What a rank that goes on without collectives does in the background.
void finish_later(const std::unique_ptr<storage::CheckpointWriter> &writer, int rank,
                  const std::string &name) {
  write(writer, name, "of a rank");
  writer->leave_share(rank, writer->finish({name}));
}

void shares_travel_through_the_bucket(void **state) {
  BucketFixture &at = bucket_of(state);
  {
    Ranks ranks(at);
    ranks.owner->promise_share(0);
    ranks.near_one->promise_share(1);
    ranks.far_one->promise_share(2);
    assert_false(ranks.owner->take_share(1).has_value());
    finish_later(ranks.near_one, 1, "b");
    finish_later(ranks.far_one, 2, "c");
    const std::vector<std::string> shares{*ranks.owner->take_share(1), *ranks.owner->take_share(2)};
    const Resources all{{"b", 9}, {"c", 9}};
    assert_equal(ranks.owner->commit(shares), all);
    ranks.owner->announced();
  }
  assert_int_equal(at.keys().size(), 3);  // with the manifest
  at.bucket->restore("one", nullptr, true);
}

void what_the_owner_gives_up_late_ranks_clear_up(void **state) {
  BucketFixture &at = bucket_of(state);
  {
    Ranks ranks(at);
    ranks.owner->promise_share(0);
    ranks.near_one->promise_share(1);
    ranks.far_one->promise_share(2);
    finish_later(ranks.near_one, 1, "b");
    write(ranks.far_one, "c", "of a rank");
    ranks.owner->abort();
    assert_int_equal(at.keys().size(), 1);  // the other rank may still be killed
    assert_throws(Code::unavailable, "given it up", [&] { finish_later(ranks.far_one, 2, "c"); });
    assert_int_equal(at.keys().size(), 1);
  }
  at.kill_owners();
  at.bucket->sweep();
  assert_true(at.keys().empty());
}

void of_a_rank_that_has_ended_the_owner_hears(void **state) {
  BucketFixture &at = bucket_of(state);
  Ranks ranks(at);
  ranks.owner->promise_share(0);
  ranks.near_one->promise_share(1);
  at.kill_owners();
  assert_throws(Code::unavailable, "rank 1 ended before", [&] { ranks.owner->take_share(1); });
  ranks.owner->abort();
  assert_true(at.keys().empty());
}

void a_file_that_changes_is_a_conflict(void **state) {
  BucketFixture &at = bucket_of(state);
  const fs::path source = at.sample();
  const fs::path large = at.file("sample/large", std::string(size_t{40} << 20, 'l'));
  std::atomic<bool> done{false};
  at.store->before = [&](const std::string &call, const std::string &) {
    if (call == "put_part" && !done.exchange(true))
      write_all(open_file(large, O_WRONLY | O_APPEND).get(), "more", "large");
  };
  const auto writer = at.bucket->begin("one");
  assert_throws(Code::conflict, "changed meanwhile", [&] { writer->add(source, std::nullopt); });
  writer->abort();
  assert_true(at.keys().empty());
  assert_int_equal(at.store->uploads(), 0);
}

void who_is_told_of_progress_ends_a_transfer(void **state) {
  BucketFixture &at = bucket_of(state);
  at.save("one", at.sample());
  at.store->before_in_scope = [](RequestScope &scope, const std::string &call) {
    // A store that does not answer.
    if ((call == "get" || call == "put") && scope.stop() != nullptr &&
        !scope.wait(std::chrono::minutes{10}))
      throw Error(Code::state, "stopped");
  };
  storage::Progress progress(
      [](const storage::ProgressCount &) { throw Error(Code::callback, "enough"); });
  assert_throws(Code::callback, "enough",
                [&] { at.bucket->download("one", at.root / "t", {.progress = &progress}); });
  assert_equal(storage::list_directory(at.root / "t").size(), 2);  // empty directories
  const auto writer = at.bucket->begin("two");
  assert_throws(Code::callback, "enough",
                [&] { writer->add(at.sample(), std::nullopt, &progress); });
}

void progress_counts_bytes_and_files(void **state) {
  BucketFixture &at = bucket_of(state);
  const fs::path source = at.sample();
  at.file("sample/large", std::string(size_t{40} << 20, 'l'));
  storage::ProgressCount last;
  const auto tell = [&](const storage::ProgressCount &count) { last = count; };
  const uint64_t bytes = (uint64_t{40} << 20) + 35;
  {
    storage::Progress progress(tell);
    const auto writer = at.bucket->begin("one");
    writer->add(source, std::nullopt, &progress);
    writer->commit({}, &progress);
    writer->announced();
  }
  assert_int_equal(last.bytes, bytes);
  assert_int_equal(last.total_bytes, bytes);
  assert_int_equal(last.files, 4);
  {
    storage::Progress progress(tell);
    at.bucket->download("one", at.root / "t", {.progress = &progress});
  }
  assert_int_equal(last.bytes, bytes);
  assert_int_equal(last.files, 4);
}

void a_store_with_too_much_to_do_is_asked_for_less_at_a_time(void **) {
  constexpr int many = 16;
  std::atomic<int> begun{0}, running{0}, most{0};
  std::atomic<bool> is_throttled{false};
  const TemporaryDirectory root;
  FolderStore store(root.path());
  store.before_in_scope = [&](RequestScope &scope, const std::string &) {
    const int now = ++running;
    const int number = ++begun;
    if (number > many) most = std::max(most.load(), now);
    if (number == many) {
      scope.count_throttled();
      is_throttled = true;
    }
    while (!is_throttled) scope.wait(std::chrono::milliseconds{1});
    --running;
  };
  RequestPool pool(store, many, nullptr);
  int left = 3 * many;
  pool.run([&]() -> RequestPool::Task {
    if (left-- == 0) return nullptr;
    return [&] { pool.store().find("an object"); };
  });
  assert_int_equal(begun, 3 * many);
  assert_in_range(most, 1, many - 4);
}

}  // namespace

}  // namespace det::cloud

int test_bucket_together() {
  using namespace det::cloud;
  const CMUnitTest tests[] = {
      BUCKET_TEST(ranks_of_two_machines_make_one_checkpoint),
      BUCKET_TEST(machines_that_differ_about_a_file_make_none),
      BUCKET_TEST(one_that_joined_commits_nothing_and_leaves_nothing),
      BUCKET_TEST(shares_travel_through_the_bucket),
      BUCKET_TEST(what_the_owner_gives_up_late_ranks_clear_up),
      BUCKET_TEST(of_a_rank_that_has_ended_the_owner_hears),
      BUCKET_TEST(a_file_that_changes_is_a_conflict),
      BUCKET_TEST(who_is_told_of_progress_ends_a_transfer),
      BUCKET_TEST(progress_counts_bytes_and_files),
      BUCKET_TEST(a_store_with_too_much_to_do_is_asked_for_less_at_a_time),
  };
  return cmocka_run_group_tests_name("ranks and ends over a bucket", tests, nullptr, nullptr);
}
