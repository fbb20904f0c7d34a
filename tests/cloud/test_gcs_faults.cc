// Google Cloud Storage where something goes wrong: an emulator behind a proxy that spoils
// exchanges, and refusals that an emulator does not give.
#include "core/base/crc32c.h"
#include "core/base/process/environment.h"
#include "core/cloud/checksum.h"
#include "core/cloud/gcs/gcs_objects.h"
#include "tests/cloud/google_world.h"
#include "tests/cloud/suite.h"

namespace {

using namespace det;
using namespace det::cloud;
using google::World;

std::shared_ptr<Logger> quiet() { return std::make_shared<Logger>(LogLevel::error); }

Json config(const std::string &endpoint) {
  return {{"type", "gcs"},
          {"bucket", environment_variable("DET_TEST_GCS_BUCKET")},
          {"endpoint_url", endpoint},
          {"anonymous", true}};
}

std::string emulator() { return environment_variable("DET_TEST_GCS_ENDPOINT"); }

// Of the emulator, behind a proxy that spoils some exchanges.
class Spoiled {
 public:
  explicit Spoiled(const Json &rules)
      : proxy_("store_proxy", {"--to", emulator().substr(emulator().rfind(':') + 1)}),
        store(open_gcs(config(proxy_.url()), quiet(), World::hasty())) {
    proxy_.control("POST", "/test/rules", rules);
  }

 private:
  const PythonServer proxy_;

 public:
  const std::shared_ptr<ObjectStore> store;
};

Json rule(const std::string &target, Json fault) {
  fault["target"] = target;
  fault["times"] = 1;
  return Json::array({std::move(fault)});
}

void store_that_loses_the_answer_has_one_new_object(void **) {
  const Spoiled spoiled(rule("/upload/", {{"how", "reset"}, {"after", true}}));
  spoiled.store->put("lost", suite::text("bytes"), true);
  assert_equal(suite::read("lost"), "bytes");
  expect_error(Code::conflict, [&] { spoiled.store->put("lost", suite::text("bytes"), true); });
  suite::clear("lost");
}

void composition_whose_answer_is_lost_is_one(void **) {
  const Spoiled spoiled(rule("/compose", {{"how", "reset"}, {"after", true}}));
  const std::string upload = spoiled.store->begin_parts("composed");
  const StoredPart part = spoiled.store->put_part("composed", upload, 1, suite::text("bytes"));
  spoiled.store->complete_parts("composed", upload, {part});
  assert_equal(suite::read("composed"), "bytes");
  suite::clear("composed");
}

void damaged_bytes_are_sent_again(void **) {
  const std::string bytes(5000, 'x');
  const Spoiled spoiled(rule("/upload/", {{"how", "flip_request"}, {"bytes", 3000}}));
  spoiled.store->put("damaged", suite::text(bytes));
  assert_equal(suite::read("damaged"), bytes);
  suite::clear("damaged");
}

void cut_body_goes_on_where_it_was(void **) {
  const std::string bytes(100'000, 'y');
  const Spoiled spoiled(rule("alt=media", {{"how", "cut_answer"}, {"body_bytes", 60'000}}));
  spoiled.store->put("cut", suite::text(bytes));
  const auto taken = std::make_shared<suite::Taken>();
  spoiled.store->get("cut", 0, UINT64_MAX, "", taken);
  assert_int_equal(taken->begun, 1);
  assert_true(taken->text == bytes);
  suite::clear("cut");
}

void damaged_body_is_told(void **) {
  const Spoiled spoiled(rule("alt=media", {{"how", "flip_answer"}, {"bytes", 50}}));
  spoiled.store->put("flipped", suite::text(std::string(100, 'z')));
  const std::string message = expect_error(Code::corrupt, [&] {
    spoiled.store->get("flipped", 0, UINT64_MAX, "", std::make_shared<suite::Taken>());
  });
  assert_true(contains(message, "'gs://test-bucket/flipped'"));
  suite::clear("flipped");
}

// More than are put together at once, and more than that of the groups.
void many_parts_are_put_together(void **) {
  const auto store = open_gcs(config(emulator()), quiet());
  const std::string upload = store->begin_parts("tree");
  std::vector<StoredPart> parts;
  std::string whole;
  for (int number = 1; number <= 70; ++number) {
    const std::string bytes = std::to_string(number) + ",";
    parts.push_back(store->put_part("tree", upload, number, suite::text(bytes)));
    whole += bytes;
  }
  assert_equal(store->list_uploads("tr").size(), 1);
  assert_equal(store->list_uploads("other").size(), 0);
  store->complete_parts("tree", upload, parts);
  assert_equal(suite::read("tree"), whole);
  assert_equal(store->find("tree")->checksum, crc32c_text(det::crc32c(whole)));
  assert_equal(store->list_uploads("").size(), 0);
  assert_equal(store->list_parts("tree", upload).size(), 0);
  suite::clear("tree");
}

void parts_stand_below_the_prefix(void **) {
  Json below = config(emulator());
  below["prefix"] = "/some/prefix/";
  const auto store = open_gcs(below, quiet());
  const std::string upload = store->begin_parts("some/prefix/one");
  store->put_part("some/prefix/one", upload, 1, suite::text("part"));
  assert_equal(suite::keys("some/prefix/"),
               std::vector<std::string>{"some/prefix/.detcore-parts/" + upload + "/part-00001"});
  store->abort_parts("some/prefix/one", upload);
  assert_true(suite::keys("some/").empty());
}

// Answers as Google gives them, which the emulator does not.
std::shared_ptr<ObjectStore> scripted(Json more = Json::object()) {
  Json asked{{"type", "gcs"}, {"bucket", "b"}, {"endpoint_url", google::services().url()}};
  asked.update(more);
  return open_gcs(asked, quiet(), World::hasty());
}

Json google_refusal(int status, const std::string &reason, const std::string &message) {
  return {{"status", status},
          {"body",
           {{"error",
             {{"code", status},
              {"message", message},
              {"errors", Json::array({{{"reason", reason}, {"message", message}}})}}}}}};
}

constexpr const char *list_path = "GET /storage/v1/b/b/o";

void list_nothing(ObjectStore &store) {
  store.list("", [](const ObjectInfo &) {});
}

void requests_are_signed(void **) {
  const World world;
  world.use(google::user());
  World::answer(
      {{"POST /token", google::token_answer("token-1")}, {list_path, {{"body", Json::object()}}}});
  const auto store = scripted();
  list_nothing(*store);
  list_nothing(*store);
  list_nothing(*scripted({{"user_project", "payer"}}));
  const Json asked = World::asked();
  assert_equal(asked.size(), 5);  // a token for each store
  assert_equal(asked[1]["headers"]["authorization"], Json("Bearer token-1"));
  assert_equal(asked[2]["headers"]["x-goog-user-project"], Json("project-of-file"));
  assert_equal(asked[4]["headers"]["x-goog-user-project"], Json("payer"));
}

void refusals_of_google_say_what_to_do(void **) {
  const World world;
  world.use(google::user());
  for (const auto &[refusal, code, remedy] :
       {std::tuple{google_refusal(403, "forbidden", "no storage.objects.list access"), Code::access,
                   "roles/storage.objectUser"},
        std::tuple{google_refusal(401, "authError", "Invalid Credentials"), Code::access,
                   "are not taken"},
        std::tuple{google_refusal(404, "notFound", "The specified bucket does not exist."),
                   Code::not_found, "there is no bucket 'b'"},
        std::tuple{
            google_refusal(400, "required",
                           "Bucket is a requester pays bucket but no user project provided."),
            Code::access, "user_project"},
        std::tuple{google_refusal(403, "retentionPolicyNotMet", "retention"), Code::access,
                   "keeps its objects"},
        std::tuple{Json{{"status", 302}, {"headers", {{"Location", "http://elsewhere/"}}}},
                   Code::unsupported, "redirects"},
        std::tuple{google_refusal(429, "rateLimitExceeded", "slow\ndown"), Code::busy,
                   "slow\\ndown"}}) {
    World::answer({{"POST /token", google::token_answer("token-secret")}, {list_path, refusal}});
    const std::string message = expect_error(code, [] { list_nothing(*scripted()); });
    if (!contains(message, remedy)) print_error("%s\n", message.c_str());
    assert_true(contains(message, remedy));
    assert_true(contains(message, "listing 'gs://b/'"));
    assert_false(contains(message, "token-secret"));
  }
}

void missing_bucket_is_no_missing_object(void **) {
  const World world;
  const Json anonymous{{"anonymous", true}};
  World::answer({{"GET /storage/v1/b/b/o/key",
                  google_refusal(404, "notFound", "The specified bucket does not exist.")}});
  expect_error(Code::not_found, [&] { scripted(anonymous)->find("key"); });
  World::answer(
      {{"GET /storage/v1/b/b/o/key", google_refusal(404, "notFound", "No such object: b/key")}});
  assert_false(scripted(anonymous)->find("key").has_value());
}

void what_is_stored_compressed_comes_as_it_is(void **) {
  const World world;
  const std::string stored = "no gzip at all";
  World::answer({{"GET /storage/v1/b/b/o/key",
                  {{"body", stored},
                   {"headers",
                    {{"Content-Encoding", "gzip"},
                     {"X-Goog-Stored-Content-Length", std::to_string(stored.size())},
                     {"X-Goog-Hash", "crc32c=" + crc32c_text(det::crc32c(stored))}}}}}});
  const auto taken = std::make_shared<suite::Taken>();
  scripted({{"anonymous", true}})->get("key", 0, UINT64_MAX, "", taken);
  assert_equal(taken->text, stored);
  assert_equal(World::asked()[0]["headers"]["accept-encoding"], Json("gzip"));
}

void bucket_that_keeps_its_objects_keeps_parts(void **) {
  const World world;
  const std::string path = "/storage/v1/b/b/o/key/compose";
  const Json made{{"name", "key"},
                  {"size", "5"},
                  {"generation", "8"},
                  {"crc32c", crc32c_text(det::crc32c("bytes"))},
                  {"timeCreated", "2026-01-01T00:00:00Z"},
                  {"updated", "2026-01-01T00:00:00Z"}};
  World::answer({{"POST " + path, Json::array({google_refusal(403, "retentionPolicyNotMet", "kept"),
                                               {{"body", made}}})},
                 {list_path, {{"body", Json::object()}}}});
  scripted({{"anonymous", true}})
      ->complete_parts("key", "upload", {{1, 5, "7", crc32c_text(det::crc32c("bytes"))}});
  std::vector<Json> removals;
  for (const Json &request : World::asked())
    if (request["path"] == path) {
      const Json body = parse_json(request["body"].get<std::string>(), "body");
      assert_equal(body["sourceObjects"][0]["generation"], Json("7"));
      removals.push_back(body["deleteSourceObjects"]);
    }
  assert_equal(removals, std::vector<Json>{true, false});
}

void config_is_checked(void **) {
  const World world;
  for (const Json &more :
       {Json{{"bucket", nullptr}}, Json{{"bucket", "a/b"}}, Json{{"prefix", 1}},
        Json{{"endpoint_url", "ftp://x"}}, Json{{"anonymous", "yes"}}, Json{{"colour", "red"}}})
    expect_error(Code::invalid, [&] { scripted(more); });
  expect_error(Code::access, [] { scripted(); });
  World::set("STORAGE_EMULATOR_HOST", google::services().url());
  World::answer({{list_path, {{"body", Json::object()}}}});
  list_nothing(*open_gcs({{"type", "gcs"}, {"bucket", "b"}}, quiet()));
  assert_false(World::asked()[0]["headers"].contains("authorization"));
}

}  // namespace

int test_gcs_faults() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(store_that_loses_the_answer_has_one_new_object),
      cmocka_unit_test(composition_whose_answer_is_lost_is_one),
      cmocka_unit_test(damaged_bytes_are_sent_again),
      cmocka_unit_test(cut_body_goes_on_where_it_was),
      cmocka_unit_test(damaged_body_is_told),
      cmocka_unit_test(many_parts_are_put_together),
      cmocka_unit_test(parts_stand_below_the_prefix),
      cmocka_unit_test(requests_are_signed),
      cmocka_unit_test(refusals_of_google_say_what_to_do),
      cmocka_unit_test(missing_bucket_is_no_missing_object),
      cmocka_unit_test(what_is_stored_compressed_comes_as_it_is),
      cmocka_unit_test(bucket_that_keeps_its_objects_keeps_parts),
      cmocka_unit_test(config_is_checked),
  };
  suite::subject.store = open_gcs(config(emulator()), quiet());
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
