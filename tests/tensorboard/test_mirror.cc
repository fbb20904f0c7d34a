// What programs see that follow the copy of a bucket.
#include "core/tensorboard/mirror.h"

#include <sys/stat.h>

#include <mutex>
#include <set>

#include "core/storage/progress.h"
#include "tests/cloud/bucket_fixture.h"

namespace det::tensorboard {

namespace {

namespace fs = std::filesystem;
using cloud::bucket_of;

constexpr const char *events = "trial/1/events.out.tfevents.1";

struct MirrorFixture {
  explicit MirrorFixture(void **state) : at(bucket_of(state)) {}

  void put(const std::string &path, const std::string &text) const {
    storage->files()->put("c/tensorboard/experiment/1/" + path, at.file("file", text));
  }
  std::string seen(const std::string &path) const { return read_file(mirror.path() / path); }
  static ino_t inode(const fs::path &path) {
    struct stat about {};
    assert_int_equal(stat(path.c_str(), &about), 0);
    return about.st_ino;
  }

  cloud::BucketFixture &at;
  std::shared_ptr<storage::Storage> storage = at.open();
  Mirror mirror{storage, "c/tensorboard/experiment/1", at.root / "mirror"};
};

void what_is_new_or_has_grown_comes_and_nothing_else(void **state) {
  MirrorFixture here(state);
  here.mirror.refresh();
  assert_true(here.mirror.empty());
  here.put(events, "first");
  here.put("trial/2/profile", "one");
  here.put("trial/2/empty", "");
  here.mirror.refresh();
  assert_false(here.mirror.empty());
  assert_equal(here.seen(events), std::string("first"));
  assert_equal(here.seen("trial/2/profile"), std::string("one"));
  assert_equal(here.seen("trial/2/empty"), std::string());

  std::vector<std::string> read;
  here.at.store->before = [&](const std::string &call, const std::string &key) {
    if (call == "get") read.push_back(fs::path(key).filename());
  };
  here.mirror.refresh();
  assert_equal(read, std::vector<std::string>());
  const ino_t followed = MirrorFixture::inode(here.mirror.path() / events);
  here.put(events, "first, second");
  here.mirror.refresh();
  assert_equal(read, std::vector<std::string>{fs::path(events).filename()});
  assert_equal(here.seen(events), std::string("first, second"));
  assert_int_equal(MirrorFixture::inode(here.mirror.path() / events), followed);
}

void what_is_no_event_file_is_replaced_whole(void **state) {
  MirrorFixture here(state);
  here.put("profile", "one");
  here.mirror.refresh();
  const ino_t before = MirrorFixture::inode(here.mirror.path() / "profile");
  here.put("profile", "another");
  here.mirror.refresh();
  assert_equal(here.seen("profile"), std::string("another"));
  assert_int_not_equal(MirrorFixture::inode(here.mirror.path() / "profile"), before);
}

// A writer whose disk was full cuts off what it had written of the last event.
void event_files_that_are_shorter_are_read_again(void **state) {
  MirrorFixture here(state);
  here.put(events, "first, sec");
  here.mirror.refresh();
  here.put(events, "first");
  here.mirror.refresh();
  assert_equal(here.seen(events), std::string("first"));
}

void what_changes_meanwhile_comes_with_the_next_refresh(void **state) {
  MirrorFixture here(state);
  here.put("a.tfevents", "first");
  here.put("gone", "text");
  here.put("shorter", "a long text");
  std::once_flag first;
  here.at.store->before = [&](const std::string &call, const std::string &) {
    if (call != "get") return;
    std::call_once(first, [&] {
      here.put("a.tfevents", "first, second");
      here.put("shorter", "text");
      here.at.store->remove({"some/prefix/c/tensorboard/experiment/1/gone"});
    });
  };
  here.mirror.refresh();
  assert_equal(here.seen("a.tfevents"), std::string("first"));
  assert_false(fs::exists(here.mirror.path() / "gone"));
  here.mirror.refresh();
  assert_equal(here.seen("a.tfevents"), std::string("first, second"));
  assert_equal(here.seen("shorter"), std::string("text"));
  assert_false(fs::exists(here.mirror.path() / "gone"));
}

void a_refresh_that_fails_is_gone_on_with(void **state) {
  MirrorFixture here(state);
  here.put("a", "one");
  here.put("b", "two");
  here.at.store->before = [](const std::string &call, const std::string &key) {
    if (call == "get" && key.ends_with("b")) throw Error(Code::unavailable, "the store is away");
  };
  cloud::assert_throws(Code::unavailable, "away", [&] { here.mirror.refresh(); });
  here.at.store->before = nullptr;
  here.mirror.refresh();
  assert_equal(here.seen("a"), std::string("one"));
  assert_equal(here.seen("b"), std::string("two"));
}

void names_that_no_directory_can_have_are_left_out(void **state) {
  MirrorFixture here(state);
  const std::string prefix = "some/prefix/c/tensorboard/experiment/1/";
  for (const char *name : {"../outside", "a//b", "folder/", "folder", "folder/deep/file"})
    here.at.store->put(prefix + name, std::make_shared<cloud::TextRange>("an object", name), false);
  here.put("other/file", "text");
  here.mirror.refresh();
  std::set<std::string> found;
  for (const auto &entry : fs::recursive_directory_iterator(here.at.root / "mirror"))
    if (entry.is_regular_file()) found.insert(entry.path().lexically_relative(here.mirror.path()));
  assert_equal(found, (std::set<std::string>{"folder/deep/file", "other/file"}));
}

void whoever_is_told_of_the_progress_may_end_it(void **state) {
  MirrorFixture here(state);
  here.put("a", "one");
  struct Stopped {};
  storage::Progress progress([](const storage::ProgressCount &) { throw Stopped(); });
  bool stopped = false;
  try {
    here.mirror.refresh(&progress);
  } catch (const Stopped &) {
    stopped = true;
  }
  assert_true(stopped);
}

}  // namespace

}  // namespace det::tensorboard

int test_mirror() {
  using namespace det::tensorboard;
  const CMUnitTest tests[] = {
      BUCKET_TEST(what_is_new_or_has_grown_comes_and_nothing_else),
      BUCKET_TEST(what_is_no_event_file_is_replaced_whole),
      BUCKET_TEST(event_files_that_are_shorter_are_read_again),
      BUCKET_TEST(what_changes_meanwhile_comes_with_the_next_refresh),
      BUCKET_TEST(a_refresh_that_fails_is_gone_on_with),
      BUCKET_TEST(names_that_no_directory_can_have_are_left_out),
      BUCKET_TEST(whoever_is_told_of_the_progress_may_end_it),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
