// Saves of all ranks into a bucket that go on in the background.
#include "core/cloud/checkpoints/cloud_storage.h"
#include "tests/cloud/folder_store.h"
#include "tests/context/job.h"
#include "tests/storage/odd_trees.h"

namespace det::test {

namespace {

using context::SaveState;

// Of machines with directories of their own, two ranks on each.
class BucketJob : public Job {
 public:
  BucketJob() : Job(2, 2), store_(std::make_shared<cloud::FolderStore>(path("bucket"))) {
    for (int rank = 0; rank < 4; ++rank)
      file(source_of(rank) + "/own" + std::to_string(rank), "of a rank");
    open_storage = [this](int rank, const std::shared_ptr<Logger> &logger) {
      return std::make_unique<cloud::CloudStorage>(
          cloud::CloudOptions{store_, "prefix", path("machine" + std::to_string(rank / 2)),
                              Json{{"type", "s3"}}},
          logger);
    };
  }

  std::shared_ptr<context::SaveTicket> upload(Rank &rank, int steps) const {
    return rank.checkpoints.saver().upload_async(
        path(source_of(rank.number)), R"({"steps_completed": )" + std::to_string(steps) + "}", true,
        nullptr);
  }
  std::vector<std::string> keys() const { return store_->keys(); }

 private:
  static std::string source_of(int rank) { return "source" + std::to_string(rank); }

  const std::shared_ptr<cloud::FolderStore> store_;
};

void ranks_save_into_a_bucket_without_meeting(void **) {
  BucketJob job;
  assert_no_failure(job.run([&](Rank &rank) {
    const auto first = job.upload(rank, 1);
    const auto second = job.upload(rank, 2);
    rank.communicator.allgather("the training's own");
    if (rank.number == 0) REQUIRE(second->await_end(std::nullopt));  // nobody else calls anything
    REQUIRE(rank.checkpoints.background().wait(*second, std::nullopt));
    REQUIRE(rank.checkpoints.background().wait(*first, std::nullopt));
    REQUIRE(first->state() == SaveState::saved);
    const auto reader = rank.storage.restore(first->id(), nullptr, true);
    REQUIRE(read_file(reader->path() / "own3") == "of a rank");
  }));
  assert_int_equal(job.reports.size(), 2);
  assert_int_equal(job.keys().size(), 2 * 6);  // a file of each, metadata, the manifest
}

void a_store_of_ranks_is_committed_into_a_bucket(void **) {
  BucketJob job;
  assert_no_failure(job.run([&](Rank &rank) {
    const auto store = rank.checkpoints.saver().begin(steps, true);
    const std::string name = "own" + std::to_string(rank.number);
    write_all(open_file(fs::path(store->path()) / name, O_WRONLY | O_CREAT).get(), "x", name);
    REQUIRE(rank.checkpoints.background().wait(*store->commit_async(), std::nullopt));
  }));
  assert_int_equal(job.reports.size(), 1);
  assert_int_equal(job.reports[0].second.resources.size(), 5);
  assert_int_equal(job.keys().size(), 6);
}

void a_linked_directory_of_ranks_is_not_empty_in_a_bucket(void **) {
  BucketJob job;
  assert_no_failure(job.run([&](Rank &rank) {
    const auto store = rank.checkpoints.saver().begin(steps, true);
    if (rank.number == 0) {
      odd::write(fs::path(store->path()) / "real/inner/file", "of the first machine");
      fs::create_symlink("real", fs::path(store->path()) / "odd");
    }
    store->commit();
  }));
  assert_int_equal(job.reports.size(), 1);
  const storage::Resources &resources = job.reports[0].second.resources;
  assert_int_equal(resources.at("odd/inner/file"), 20);
  assert_int_equal(resources.at("real/inner/file"), 20);
}

void what_fails_on_one_rank_leaves_nothing_in_a_bucket(void **) {
  for (int step = 0;; ++step) {
    BucketJob job;
    job.faulty_rank = 3;
    job.faulty_step = step;
    const auto thrown = job.run([&](Rank &rank) {
      rank.checkpoints.background().wait(*job.upload(rank, 1), std::nullopt);
    });
    if (!job.fault_happened) {
      assert_no_failure(thrown);
      break;
    }
    assert_all_threw(thrown, Code::corrupt, "a fault of the test");
    assert_true(job.reports.empty());
    for (const std::string &key : job.keys())  // one that the next sweep removes
      assert_non_null(strstr(key.c_str(), "/.detcore/pending/"));
  }
}

void odd_trees_come_back_from_a_bucket(void **) {
  for (const bool deduplicate : {false, true}) {
    Job job(1, 1);
    const auto store = std::make_shared<cloud::FolderStore>(job.path("bucket"));
    job.open_storage = [&](int, const std::shared_ptr<Logger> &logger) {
      cloud::CloudOptions options{store, "p", job.path("machine"), Json{{"type", "s3"}}};
      options.deduplicate = deduplicate;
      return std::make_unique<cloud::CloudStorage>(options, logger);
    };
    odd_trees_come_back_or_are_refused(job);
  }
}

}  // namespace

}  // namespace det::test

int test_bucket_async() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(ranks_save_into_a_bucket_without_meeting),
      cmocka_unit_test(a_store_of_ranks_is_committed_into_a_bucket),
      cmocka_unit_test(a_linked_directory_of_ranks_is_not_empty_in_a_bucket),
      cmocka_unit_test(what_fails_on_one_rank_leaves_nothing_in_a_bucket),
      cmocka_unit_test(odd_trees_come_back_from_a_bucket),
  };
  return cmocka_run_group_tests_name("asynchronous saves into a bucket", tests, nullptr, nullptr);
}
