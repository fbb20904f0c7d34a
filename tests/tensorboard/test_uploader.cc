// TensorBoard files on their way into a bucket.
#include "core/tensorboard/uploader.h"

#include <atomic>
#include <fstream>
#include <map>

#include "core/base/file.h"
#include "core/storage/directory_storage.h"
#include "core/tensorboard/event_writer.h"
#include "tests/assert_equal.h"
#include "tests/cmocka.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;
using namespace det::tensorboard;
using std::chrono::milliseconds;

// Keeps files as a bucket does: by name, and without a file system that others see.
struct Bucket : storage::DirectoryStorage {
  explicit Bucket(const std::filesystem::path &base)
      : DirectoryStorage({base, {}, "host_path"}, std::make_shared<Logger>()) {}
  std::filesystem::path directory() const override { return {}; }
  storage::KeptFiles *files() override { return &kept; }

  struct Kept : storage::KeptFiles {
    explicit Kept(Bucket &bucket) : of(bucket) {}
    void put(const std::string &path, const std::filesystem::path &file,
             storage::Progress *) override {
      ++of.tries;
      if (of.broken) throw Error(Code::unavailable, "the bucket does not answer");
      const std::lock_guard lock(of.mutex);
      of.contents[path] = read_file(file);
    }
    void put_new(const std::string &, const std::filesystem::path &, storage::Progress *) override {
    }
    void remove(const std::string &directory) override { of.removed = directory; }
    std::vector<storage::KeptFile> list(const std::string &, storage::Progress *) override {
      return {};
    }
    void read(const std::string &, const std::vector<storage::KeptRange> &,
              storage::Progress *) override {}
    Bucket &of;
  };

  Kept kept{*this};
  std::atomic<bool> broken{false};
  std::atomic<int> tries{0};
  std::mutex mutex;
  std::map<std::string, std::string> contents;
  std::string removed;
};

struct Uploading {
  TemporaryDirectory temporary;
  std::shared_ptr<Bucket> bucket = std::make_shared<Bucket>(temporary / "stored");
  std::shared_ptr<TensorboardFiles> files;
  std::string log;
  std::shared_ptr<Logger> logger = std::make_shared<Logger>(
      LogLevel::warning, [this](LogLevel, const std::string &line) { log += line + "\n"; });

  explicit Uploading(TensorboardMode mode = TensorboardMode::automatic, int rank = 0) {
    setenv("TMPDIR", temporary.path().c_str(), 1);
    files = std::make_shared<TensorboardFiles>(
        mode, TensorboardPlace{{}, "c-1", 1, 2, "a.1", rank, bucket});
    unsetenv("TMPDIR");
  }
  void write(const std::string &name, const std::string &text) const {
    std::ofstream(files->path() / name) << text;
  }
};

constexpr const char *kept_as = "c-1/tensorboard/experiment/1/trial/2/";
constexpr milliseconds long_enough{60'000};

void what_was_written_is_there_at_the_end(void **) {
  const Uploading of;
  Uploader uploader(of.files, of.logger, long_enough);
  of.write("events", "one");
  uploader.note_change();
  assert_true(uploader.finish(long_enough));
  assert_equal(of.bucket->contents[std::string(kept_as) + "events"], std::string("one"));
  assert_equal(of.log, std::string());
}

void runs_that_begin_within_one_second_keep_apart(void **) {
  const Uploading of;
  for (const int64_t run : {1, 2}) {
    setenv("TMPDIR", of.temporary.path().c_str(), 1);
    const auto files = std::make_shared<TensorboardFiles>(
        TensorboardMode::automatic,
        TensorboardPlace{{}, "c-1", 1, 2, "a." + std::to_string(run), 0, of.bucket, run});
    unsetenv("TMPDIR");
    EventFile(files, "", [] { return int64_t{1'700'000'000'000'000}; }).append("");
    files->sync();
  }
  assert_int_equal(of.bucket->contents.size(), 2);
}

void what_fails_is_tried_again_and_told_once(void **) {
  Uploading of;
  of.bucket->broken = true;
  Uploader uploader(of.files, of.logger, milliseconds(1));
  of.write("events", "one");
  uploader.note_change();
  while (of.bucket->tries < 3) std::this_thread::yield();
  of.bucket->broken = false;
  assert_true(uploader.finish(long_enough));
  assert_equal(of.bucket->contents.size(), 1);
  assert_equal(of.log.find("does not answer"), of.log.rfind("does not answer"));
  assert_true(of.log.find("does not answer") != std::string::npos);
}

void nothing_is_uploaded_where_nothing_changed(void **) {
  const Uploading of;
  {
    Uploader uploader(of.files, of.logger, milliseconds(1));
    assert_true(uploader.finish(milliseconds(0)));
  }
  assert_equal(of.bucket->tries.load(), 0);
}

void only_the_chief_in_automatic_mode_uploads_by_itself(void **) {
  assert_true(Uploading().files->wants_sync());
  assert_false(Uploading(TensorboardMode::automatic, 1).files->wants_sync());
  const Uploading manual(TensorboardMode::manual);
  assert_false(manual.files->wants_sync());
  manual.write("events", "two");
  manual.files->upload(nullptr, nullptr);
  assert_equal(manual.bucket->contents[std::string(kept_as) + "events"], std::string("two"));
}

void files_of_an_experiment_are_removed_by_their_directory(void **) {
  const Uploading of;
  remove_tensorboard_files(*of.bucket, "c-1", 1);
  assert_equal(of.bucket->removed, std::string("c-1/tensorboard/experiment/1"));
}

}  // namespace

int test_uploader() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(what_was_written_is_there_at_the_end),
      cmocka_unit_test(runs_that_begin_within_one_second_keep_apart),
      cmocka_unit_test(what_fails_is_tried_again_and_told_once),
      cmocka_unit_test(nothing_is_uploaded_where_nothing_changed),
      cmocka_unit_test(only_the_chief_in_automatic_mode_uploads_by_itself),
      cmocka_unit_test(files_of_an_experiment_are_removed_by_their_directory),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
