#include "core/base/json.h"
#include "core/storage/storage_location.h"
#include "tests/storage/fixture.h"

namespace det::storage {

namespace {

std::unique_ptr<Storage> make(const std::string &config,
                              const std::optional<std::string> &container = std::nullopt) {
  return make_storage(parse_json(config, "config"), container, std::make_shared<Logger>());
}

std::string base_of(const std::string &config,
                    const std::optional<std::string> &container = std::nullopt) {
  return make(config, container)->directory();
}

void refuses(Code code, const std::string &fragment, const std::string &config) {
  assert_throws(code, fragment, [&] { make(config); });
}

void type_must_be_a_known_string(void **) {
  refuses(Code::invalid, "Missing 'type' parameter", "{}");
  refuses(Code::invalid, "must be a string", R"({"type":4})");
  refuses(Code::invalid, "Unknown storage type: tape", R"({"type":"tape"})");
  refuses(Code::invalid, "object", "[]");
}

void shared_fs_lies_where_host_and_storage_path_say(void **) {
  const std::string plain = R"({"type":"shared_fs","host_path":"/h"})";
  const std::string below = R"({"type":"shared_fs","host_path":"/h","storage_path":"s"})";
  assert_string_equal(base_of(plain).c_str(), "/h");
  assert_string_equal(base_of(plain, "/c").c_str(), "/c");
  assert_string_equal(base_of(below).c_str(), "/h/s");
  assert_string_equal(base_of(below, "/c").c_str(), "/c/s");
  assert_string_equal(
      base_of(R"({"type":"shared_fs","host_path":"/h/","storage_path":"/h/s/t/"})", "/c").c_str(),
      "/c/s/t");
  assert_string_equal(
      base_of(R"({"type":"shared_fs","host_path":"/h","storage_path":"."})").c_str(), "/h");
}

void shared_fs_does_not_leave_the_host_path(void **) {
  refuses(Code::invalid, "`host_path` must be an absolute path",
          R"({"type":"shared_fs","host_path":"h"})");
  for (const char *outside : {"../test", "/h/../test", "/s", "/hx/s", "s/../../x"}) {
    const Json config{{"type", "shared_fs"}, {"host_path", "/h"}, {"storage_path", outside}};
    refuses(Code::invalid, "must be a subdirectory", config.dump());
  }
}

void shared_fs_takes_the_older_names_of_storage_path(void **) {
  assert_string_equal(
      base_of(R"({"type":"shared_fs","host_path":"/h","checkpoint_path":"c"})").c_str(), "/h/c");
  assert_string_equal(base_of(R"({"type":"shared_fs","host_path":"/h","checkpoint_path":"c",
                                  "tensorboard_path":"t"})")
                          .c_str(),
                      "/h/t");
  assert_string_equal(base_of(R"({"type":"shared_fs","host_path":"/h","checkpoint_path":"c",
                                  "tensorboard_path":"t","storage_path":"s"})")
                          .c_str(),
                      "/h/s");
  assert_string_equal(base_of(R"({"type":"shared_fs","host_path":"/h","checkpoint_path":"c",
                                  "storage_path":null})")
                          .c_str(),
                      "/h");
}

void keys_are_checked(void **) {
  refuses(Code::invalid, "unknown key 'colour'",
          R"({"type":"shared_fs","host_path":"/h","colour":1})");
  refuses(Code::invalid, "`host_path`", R"({"type":"shared_fs"})");
  refuses(Code::invalid, "`host_path`", R"({"type":"shared_fs","host_path":null})");
  refuses(Code::invalid, "must be a string", R"({"type":"shared_fs","host_path":7})");
  refuses(Code::invalid, "NUL", R"({"type":"shared_fs","host_path":"/a\u0000b"})");
  refuses(Code::invalid, "unknown key 'host_path'",
          R"({"type":"directory","container_path":"/c","host_path":"/h"})");
  refuses(Code::invalid, "`container_path`", R"({"type":"directory","container_path":""})");
  assert_string_equal(base_of(R"({"type":"directory","container_path":"/c","save_trial_best":1,
                                  "save_experiment_best":0,"save_trial_latest":2})")
                          .c_str(),
                      "/c");
  assert_string_equal(base_of(R"({"type":"shared_fs","host_path":"/h","propagation":"rprivate",
                                  "container_path":"/ignored"})")
                          .c_str(),
                      "/h");
}

// Nothing lies beside this program.
void buckets_are_checked_and_need_their_library(void **) {
  const char *missing = "libdetcore-cloud.so.0 cannot be loaded";
  refuses(Code::unsupported, missing,
          R"({"type":"s3","bucket":"b","prefix":"p","access_key":null})");
  refuses(Code::unsupported, missing, R"({"type":"gcs","bucket":"b"})");
  refuses(Code::unsupported, missing,
          R"({"type":"azure","container":"c","account_url":"u","credential":"x"})");
  refuses(Code::invalid, "`bucket`", R"({"type":"s3"})");
  refuses(Code::invalid, "prefix must not match", R"({"type":"s3","bucket":"b","prefix":"../x"})");
  refuses(Code::invalid, "exactly one", R"({"type":"azure","container":"c"})");
  refuses(Code::invalid, "exactly one",
          R"({"type":"azure","container":"c","connection_string":null,"account_url":null})");
  refuses(Code::invalid, "credential",
          R"({"type":"azure","container":"c","connection_string":"s","credential":"x"})");
}

void paths_and_uris_are_shortcuts(void **) {
  for (const auto &[uri, path] : {std::pair{"/p", "/p"},
                                  {"rel/p", "rel/p"},
                                  {"file:///p", "/p"},
                                  {"FILE:/p", "/p"},
                                  {"/p;x/y", "/p;x/y"},
                                  {"file:///p;x", "/p;x"},
                                  {"/a:b%20", "/a:b%20"}}) {
    const StorageLocation found = parse_storage_uri(uri);
    assert_string_equal(found.kind.c_str(), "shared_fs");
    assert_string_equal(found.path.c_str(), path);
  }
  const StorageLocation s3 = parse_storage_uri("S3://Bucket/some//prefix/");
  assert_string_equal(s3.kind.c_str(), "s3");
  assert_string_equal(s3.bucket.c_str(), "Bucket");
  assert_string_equal(s3.prefix.c_str(), "some/prefix");
  assert_string_equal(parse_storage_uri("gs://b").kind.c_str(), "gcs");
  assert_string_equal(parse_storage_uri("azure://c/some").kind.c_str(), "azure");
}

void other_uris_are_refused(void **) {
  for (const char *uri :
       {"", "/p?q=1", "/p#f", "s3://b/p?q", "s3://b#f", "/p;x", "file://host/p", "//host/p",
        "localhost:1/p", "azure://", "s3://", "s3:///p", "file:", "http://h/p", "s3://b/../c"})
    assert_throws(Code::invalid, "", [&] { parse_storage_uri(uri); });
}

void relative_path_survives_a_change_of_directory(void **state) {
  const Fixture &at = fixture_of(state);
  const fs::path before = fs::current_path();
  fs::current_path(at.root);
  const auto storage = make_storage_from_uri("here", at.logger);
  fs::current_path(before);
  assert_string_equal(storage->directory().c_str(), (at.root / "here").c_str());
  const auto again = make_storage(storage->config(), std::nullopt, at.logger);
  assert_string_equal(again->directory().c_str(), (at.root / "here").c_str());
}

void config_builds_the_same_storage_again(void **) {
  const auto first = make(R"({"type":"shared_fs","host_path":"/h","checkpoint_path":"s",
                              "save_trial_best":3})",
                          "/c");
  assert_string_equal(first->directory().c_str(), "/c/s");
  const auto second = make_storage(first->config(), std::nullopt, std::make_shared<Logger>());
  assert_string_equal(second->directory().c_str(), "/h/s");
  const auto directory = make(R"({"type":"directory","container_path":"/c"})");
  assert_string_equal(directory->config().dump().c_str(),
                      R"({"type":"directory","container_path":"/c"})");
}

void prefixes_are_normalized(void **) {
  for (const auto &[in, out] : {std::pair{"", ""},
                                {"/", ""},
                                {"///", ""},
                                {"foo", "foo"},
                                {"/foo", "foo"},
                                {"/foo/", "foo"},
                                {"./foo/", "foo"},
                                {"/./foo/", "foo"},
                                {"/fo..o/", "fo..o"},
                                {"a//b/./c", "a/b/c"},
                                {"..a", "..a"},
                                {".", ""},
                                {"./", ""}})
    assert_string_equal(normalized_prefix(in).c_str(), out);
  for (const char *bad : {"/foo/..", "../foo", "fo/../o", "..", "/.."})
    assert_throws(Code::invalid, "prefix must not match", [&] { normalized_prefix(bad); });
}

}  // namespace

}  // namespace det::storage

int test_config() {
  using namespace det::storage;
  const CMUnitTest tests[] = {
      cmocka_unit_test(type_must_be_a_known_string),
      cmocka_unit_test(shared_fs_lies_where_host_and_storage_path_say),
      cmocka_unit_test(shared_fs_does_not_leave_the_host_path),
      cmocka_unit_test(shared_fs_takes_the_older_names_of_storage_path),
      cmocka_unit_test(keys_are_checked),
      cmocka_unit_test(buckets_are_checked_and_need_their_library),
      cmocka_unit_test(paths_and_uris_are_shortcuts),
      cmocka_unit_test(other_uris_are_refused),
      STORAGE_TEST(relative_path_survives_a_change_of_directory),
      cmocka_unit_test(config_builds_the_same_storage_again),
      cmocka_unit_test(prefixes_are_normalized),
  };
  return cmocka_run_group_tests_name("storage configuration", tests, nullptr, nullptr);
}
