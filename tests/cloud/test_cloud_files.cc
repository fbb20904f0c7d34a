// Files beside the checkpoints of a bucket, and copies within it.
#include "core/storage/directory_storage.h"
#include "core/storage/storage.h"
#include "tests/cloud/bucket_fixture.h"

namespace det::cloud {

namespace {

std::unique_ptr<CloudStorage> other_prefix(const BucketFixture &at, const Json &config) {
  return std::make_unique<CloudStorage>(
      CloudOptions{at.store, "other", at.root / "machine", config}, at.logger);
}

void files_are_kept_beside_checkpoints(void **state) {
  BucketFixture &at = bucket_of(state);
  at.save("one", at.sample());
  const size_t before = at.keys().size();
  at.bucket->files()->put("c/tensorboard/experiment/1/events", at.file("events", "first"));
  at.bucket->files()->put("c/tensorboard/experiment/1/events", at.file("events", "second"));
  at.bucket->files()->put("c/tensorboard/experiment/10/events", at.file("events", "other"));
  assert_string_equal(
      read_file(at.store->object("some/prefix/c/tensorboard/experiment/1/events")).c_str(),
      "second");
  at.bucket->files()->remove("c/tensorboard/experiment/1");
  assert_int_equal(at.keys().size(), before + 1);
  at.bucket->files()->remove("c/tensorboard/experiment/10");
  assert_int_equal(at.keys().size(), before);
  for (const char *path : {"../x", "/x", "", "a/../../b"}) {
    assert_throws(Code::invalid, "name",
                  [&] { at.bucket->files()->put(path, at.root / "events"); });
    assert_throws(Code::invalid, "name", [&] { at.bucket->files()->remove(path); });
  }
}

void a_new_file_takes_no_place(void **state) {
  BucketFixture &at = bucket_of(state);
  const std::string path = "a/data/set";
  at.bucket->files()->put_new(path, at.file("small", "first"));
  assert_throws(Code::conflict, "", [&] { at.bucket->files()->put_new(path, at.root / "small"); });
  const std::string large(33 << 20, 'x');
  assert_throws(Code::conflict, "there already",
                [&] { at.bucket->files()->put_new(path, at.file("large", large)); });
  assert_string_equal(read_file(at.store->object("some/prefix/a/data/set")).c_str(), "first");
  at.bucket->files()->remove("a/data");
  at.bucket->files()->put_new(path, at.root / "large");
  assert_true(read_file(at.store->object("some/prefix/a/data/set")) == large);
}

void a_new_file_ends_uploads_of_its_name(void **state) {
  BucketFixture &at = bucket_of(state);
  const std::string path = "a/data/set", key = "some/prefix/" + path;
  const std::string large(33 << 20, 'x');
  for (const std::string &bytes : {std::string("small"), large}) {
    at.store->begin_parts(key);  // by a process that was killed
    const std::string of_another = at.store->begin_parts(key + ".txt");
    at.bucket->files()->put_new(path, at.file("new", bytes));
    const auto left = at.store->list_uploads(key);
    assert_int_equal(left.size(), 1);
    assert_string_equal(left[0].upload.c_str(), of_another.c_str());
    at.store->abort_parts(key + ".txt", of_another);
    at.bucket->files()->remove("a/data");
  }
  std::atomic<bool> is_second = false;
  at.store->before = [&](const std::string &call, const std::string &) {
    if (call != "put_part") return;
    if (!is_second.exchange(true)) write_object(*at.store, key, "of another machine", true);
    throw Error(Code::not_found, "there is no such upload");
  };
  assert_throws(Code::conflict, "there already",
                [&] { at.bucket->files()->put_new(path, at.file("new", large)); });
  assert_int_equal(at.store->list_uploads(key).size(), 0);
  at.store->before = [](const std::string &call, const std::string &) {
    if (call == "list_uploads") throw Error(Code::access, "not you");
  };
  at.bucket->files()->put_new("a/data/other", at.root / "new");
}

void a_copy_in_one_bucket_moves_no_bytes(void **state) {
  BucketFixture &at = bucket_of(state);
  const Resources expected = at.save("one", at.sample());
  const auto to = other_prefix(at, Json{{"type", "s3"}, {"prefix", "other"}});
  fs::remove_all(at.root / "machine");  // no local directory is needed
  copy_checkpoint(*at.bucket, "one", *to);
  assert_equal(to->list("one"), expected);
  assert_false(fs::exists(at.root / "machine"));
  assert_equal(to->sweep(), std::vector<std::string>());
  to->download("one", at.root / "target", nullptr, true);
  assert_throws(Code::conflict, "one", [&] { copy_checkpoint(*at.bucket, "one", *to); });
  assert_throws(Code::not_found, "two", [&] { copy_checkpoint(*at.bucket, "two", *to); });
  assert_equal(to->list("one"), expected);
}

void a_copy_elsewhere_comes_by_here(void **state) {
  BucketFixture &at = bucket_of(state);
  const Resources expected = at.save("one", at.sample());
  const auto to = other_prefix(at, Json{{"type", "s3"}, {"endpoint_url", "http://elsewhere"}});
  copy_checkpoint(*at.bucket, "one", *to);
  assert_equal(to->list("one"), expected);
  copy_checkpoint(*at.bucket, "one", *at.storage);  // a directory
  at.storage->restore("one", nullptr, true);
  assert_equal(at.storage->list("one"), expected);
}

}  // namespace

}  // namespace det::cloud

int test_cloud_files() {
  using namespace det::cloud;
  const CMUnitTest tests[] = {
      BUCKET_TEST(files_are_kept_beside_checkpoints),
      BUCKET_TEST(a_new_file_takes_no_place),
      BUCKET_TEST(a_new_file_ends_uploads_of_its_name),
      BUCKET_TEST(a_copy_in_one_bucket_moves_no_bytes),
      BUCKET_TEST(a_copy_elsewhere_comes_by_here),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
