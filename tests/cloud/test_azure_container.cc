// What Azure has besides what every object store does: containers, folders in them, blocks without
// uploads.
#include "core/base/file.h"
#include "core/base/text/base64.h"
#include "core/base/text/percent.h"
#include "core/cloud/digest.h"
#include "core/cloud/open_bucket.h"
#include "tests/cloud/azure.h"
#include "tests/cloud/suite.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;
using namespace det::cloud;

using suite::text;

std::string content_of(ObjectStore &store, const std::string &key) {
  const auto sink = std::make_shared<suite::Taken>();
  store.get(key, 0, UINT64_MAX, "", sink);
  return sink->text;
}

std::vector<std::string> keys_in(ObjectStore &store) {
  std::vector<std::string> found;
  store.list("", [&](const ObjectInfo &object) { found.push_back(object.key); });
  return found;
}

std::string connection_string() {
  return "DefaultEndpointsProtocol=http;AccountName=" +
         environment_variable("DET_TEST_AZURE_ACCOUNT") +
         ";AccountKey=" + environment_variable("DET_TEST_AZURE_KEY") +
         ";BlobEndpoint=" + azurite_url() + ";";
}

// Of one container, signed as the service does since 2018.
std::string sas_of(const std::string &container, const std::string &end) {
  const std::string account = environment_variable("DET_TEST_AZURE_ACCOUNT");
  const std::string signed_text = "racwdl\n\n" + end + "\n/blob/" + account + "/" + container +
                                  "\n\n\n\n2018-11-09\nc\n\n\n\n\n\n";
  const std::string key = from_base64(environment_variable("DET_TEST_AZURE_KEY")).value();
  return "sp=racwdl&se=" + percent_encoded(end) +
         "&sv=2018-11-09&sr=c&sig=" + percent_encoded(to_base64(hmac_sha256(key, signed_text)));
}

void container_is_made_where_it_is_not_there(void **) {
  const auto store = open(azurite("made-by-test"));
  store->put("key", text("bytes"));
  assert_equal(content_of(*open(azurite("made-by-test")), "key"), std::string("bytes"));
}

void connection_string_does_as_well(void **) {
  Json config{{"type", "azure"},
              {"container", "made-by-string"},
              {"connection_string", connection_string()}};
  open(config)->put("key", text("bytes"));
  assert_equal(content_of(*open(azurite("made-by-string")), "key"), std::string("bytes"));
}

void container_may_go_on_with_a_folder(void **) {
  const auto store = open(azurite("folders/some//./dir/"));
  store->put("key", text("bytes"));
  assert_equal(store->name_of("key"), std::string("azure://folders/some/dir/key"));
  const auto whole = open(azurite("folders"));
  whole->put("some/dirt", text("of another"));
  assert_equal(keys_in(*store), std::vector<std::string>{"key"});
  assert_equal(content_of(*whole, "some/dir/key"), std::string("bytes"));
  assert_true(store->copy("key", "copy"));
  assert_equal(content_of(*whole, "some/dir/copy"), std::string("bytes"));
}

void account_url_may_name_the_container(void **) {
  Json config = azurite("below");
  open(azurite("named-by-url"))->put("below/key", text("bytes"));
  config["account_url"] = azurite_url() + "/named-by-url";
  config["account_name"] = environment_variable("DET_TEST_AZURE_ACCOUNT");
  assert_equal(content_of(*open(config), "key"), std::string("bytes"));
}

void sas_of_a_container_is_enough(void **) {
  open(azurite("by-sas"));
  Json config = azurite("by-sas/folder");
  config["credential"] = "?" + sas_of("by-sas", "2099-01-01T00:00:00Z");
  const auto store = open(config);
  store->put("key", text("bytes"));
  assert_true(store->copy("key", "copy"));
  assert_equal(keys_in(*store), (std::vector<std::string>{"copy", "key"}));
  assert_equal(content_of(*store, "copy"), std::string("bytes"));
  store->remove({"key", "copy"});
  assert_true(keys_in(*store).empty());
  // In the URL, too.
  config.erase("credential");
  config["account_url"] = azurite_url() + "?" + sas_of("by-sas", "2099-01-01T00:00:00Z");
  assert_false(open(config)->find("key").has_value());
}

void sas_that_has_ended_is_told_but_not_shown(void **) {
  open(azurite("by-old-sas"));
  Json config = azurite("by-old-sas");
  config["credential"] = sas_of("by-old-sas", "2020-01-01T00:00:00Z");
  const std::string message =
      expect_error(Code::access, [&] { open(config)->put("key", text("bytes")); });
  assert_true(contains(message, "the SAS token ended at 2020-01-01T00:00:00Z"));
  assert_false(contains(message, "sig="));
}

// Through everything above: in parts, and with what a killed process would leave.
void checkpoint_goes_there_and_comes_back(void **) {
  Json config = azurite("checkpoints/of/a team");
  const TemporaryDirectory folder;
  config["temp_dir"] = (folder / "temp").string();
  const auto storage = open_bucket(config, std::make_shared<Logger>());
  std::string large((size_t{33} << 20U) + 1, 'x');
  for (size_t i = 0; i < large.size(); i += 4099) large[i] = static_cast<char>(i);
  std::filesystem::create_directories(folder / "source/d\u00e9/empty");
  write_file_durably(folder / "source/d\u00e9/large %", large);
  write_file_durably(folder / "source/small", "bytes");
  const auto writer = storage->begin("one");
  writer->add(folder / "source", std::nullopt);
  writer->commit();
  writer->announced();
  storage->download("one", folder / "target", nullptr, true);
  assert_true(read_file(folder / "target/d\u00e9/large %") == large);
  assert_equal(read_file(folder / "target/small"), std::string("bytes"));
  assert_true(std::filesystem::is_directory(folder / "target/d\u00e9/empty"));
  assert_false(contains(storage->config().dump(), environment_variable("DET_TEST_AZURE_KEY")));
  storage->remove("one");
  assert_true(keys_in(*open(azurite("checkpoints"))).empty());
}

void names_that_azure_would_change_are_refused(void **) {
  const auto store = open(azurite());
  for (const char *key :
       {"", "a.", "a./b", "a/..", "./a", "a/./b", "back\\slash", "bell\a", "not\xFFutf8"}) {
    const std::string message =
        expect_error(Code::invalid, [&] { store->put(key, text("bytes")); });
    assert_true(contains(message, "naming a blob 'azure://test-bucket/"));
    expect_error(Code::invalid, [&] { store->begin_parts(key); });
  }
  for (const char *key : {".hidden", "a.b/..c", "dir/", "%2e", "a b ?#%"}) {
    store->put(key, text("bytes"));
    assert_equal(content_of(*store, key), std::string("bytes"));
    store->remove({key});
  }
}

void blocks_tell_what_they_are(void **) {
  const auto store = open(azurite("blocks"));
  const std::string first = store->begin_parts("key"), second = store->begin_parts("key");
  store->put_part("key", first, 1, text("one"));
  store->put_part("key", first, 1, text("other"));
  const StoredPart part = store->put_part("key", second, 2, text("two"));
  const auto parts = store->list_parts("key", second);
  assert_int_equal(parts.size(), 1);
  assert_int_equal(parts[0].number, 2);
  assert_int_equal(parts[0].size, 3);
  assert_equal(parts[0].version, part.version);
  assert_equal(parts[0].checksum, store->checksum_of(*text("two")));
  assert_int_equal(store->list_parts("key", first).size(), 1);
  assert_int_equal(store->list_uploads("").size(), 2);
  assert_true(store->list_parts("never", first).empty());
  store->complete_parts("key", second, parts);
  assert_equal(content_of(*store, "key"), std::string("two"));
  assert_true(store->list_uploads("").empty());
}

void upload_over_a_blob_leaves_it_until_it_is_complete(void **) {
  const auto store = open(azurite("over"));
  store->put("key", text("old"));
  const std::string upload = store->begin_parts("key");
  store->put_part("key", upload, 1, text("new"));
  assert_equal(content_of(*store, "key"), std::string("old"));
  store->abort_parts("key", upload);
  assert_equal(content_of(*store, "key"), std::string("old"));
  assert_int_equal(store->list_parts("key", upload).size(), 1);  // the service drops it in a week
}

void damaged_bytes_are_not_stored(void **) {
  struct Changing : TextRange {
    using TextRange::TextRange;
    size_t read(uint64_t offset, char *bytes, size_t room) override {
      const size_t count = TextRange::read(offset, bytes, room);
      if (reads++ == 1) bytes[0] ^= 1;
      return count;
    }
    int reads = 0;
  };
  const auto store = open(azurite("damage"));
  store->put("key", std::make_shared<Changing>("the test's bytes", "bytes"));
  assert_equal(content_of(*store, "key"), std::string("bytes"));
  const std::string upload = store->begin_parts("parts");
  store->complete_parts("parts", upload,
                        {store->put_part("parts", upload, 1,
                                         std::make_shared<Changing>("the test's bytes", "bytes"))});
  assert_equal(content_of(*store, "parts"), std::string("bytes"));
}

void many_are_removed_at_a_time(void **) {
  const auto store = open(azurite("removal"));
  std::vector<std::string> keys;
  for (int i = 0; i < 5; ++i) {
    keys.push_back("a b/" + std::to_string(i) + "%?\xC3\xA9");
    store->put(keys.back(), text("bytes"));
  }
  store->put("kept", text("bytes"));
  keys.insert(keys.begin() + 2, "never");
  store->remove(keys);
  assert_equal(keys_in(*store), std::vector<std::string>{"kept"});
  store->remove(keys);
  store->remove({});
}

void refusals_say_what_to_do(void **) {
  Json config = azurite();
  config["credential"] = to_base64("another key");
  const std::string message = expect_error(Code::access, [&] { open(config); });
  assert_true(contains(message, "AuthenticationFailed") ||
              contains(message, "AuthorizationFailure"));
  assert_false(contains(message, to_base64("another key")));
  config = azurite("No_Container");
  assert_true(contains(expect_error(Code::invalid, [&] { open(config); }), "InvalidResourceName"));
}

void without_credentials_there_is_what_everybody_may_read(void **) {
  Json config = azurite();
  config.erase("credential");
  config["anonymous"] = true;
  const auto store = open(config);
  const std::string message = expect_error(Code::access, [&] { store->put("key", text("")); });
  assert_true(contains(message, "\"anonymous\""));
}

}  // namespace

int test_azure_container() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(container_is_made_where_it_is_not_there),
      cmocka_unit_test(connection_string_does_as_well),
      cmocka_unit_test(container_may_go_on_with_a_folder),
      cmocka_unit_test(account_url_may_name_the_container),
      cmocka_unit_test(sas_of_a_container_is_enough),
      cmocka_unit_test(sas_that_has_ended_is_told_but_not_shown),
      cmocka_unit_test(checkpoint_goes_there_and_comes_back),
      cmocka_unit_test(names_that_azure_would_change_are_refused),
      cmocka_unit_test(blocks_tell_what_they_are),
      cmocka_unit_test(upload_over_a_blob_leaves_it_until_it_is_complete),
      cmocka_unit_test(damaged_bytes_are_not_stored),
      cmocka_unit_test(many_are_removed_at_a_time),
      cmocka_unit_test(refusals_say_what_to_do),
      cmocka_unit_test(without_credentials_there_is_what_everybody_may_read),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
