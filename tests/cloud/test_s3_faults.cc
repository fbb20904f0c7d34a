// S3 where something goes wrong: real stores behind a proxy that spoils exchanges, and refusals
// that they give only when scripted.
#include "core/cloud/request_scope.h"
#include "core/cloud/s3/s3_objects.h"
#include "tests/cloud/s3.h"
#include "tests/cloud/suite.h"
#include "tests/python_server.h"

namespace det::cloud::s3 {

namespace {

using suite::read;
using suite::text;

// A few attempts, without waiting between them. Secrets are called so, and are logged nowhere.
std::shared_ptr<ObjectStore> open_at(const Json &config, RequestPolicy policy = {.attempts = 4}) {
  policy.wait = [](std::chrono::milliseconds) { return true; };
  const auto sink = [](LogLevel, const std::string &line) {
    assert_false(contains(line, environment_variable("DET_TEST_S3_SECRET_KEY")));
  };
  return open_s3(config, std::make_shared<Logger>(LogLevel::debug, sink), std::move(policy));
}

// One for all tests, with other rules for each.
class Proxy {
 public:
  Proxy() : server_("store_proxy", {"--to", port_of(s3::config()["endpoint_url"])}) {}

  // The first exchange that a rule means is spoiled, and those after it are not.
  std::shared_ptr<ObjectStore> store(Json rules, Json changes = Json::object(),
                                     RequestPolicy policy = {.attempts = 4}) const {
    if (rules.is_object()) rules = Json::array({rules});
    for (Json &rule : rules)
      if (!rule.contains("times")) rule["times"] = 1;
    server_.control("POST", "/test/rules", rules);
    Json config = s3::config();
    config["endpoint_url"] = server_.url();
    config.update(changes);
    return open_at(config, std::move(policy));
  }
  Json log() const { return server_.control("GET", "/test/log")["log"]; }

 private:
  static std::string port_of(const Json &url) {
    const std::string text = url.get<std::string>();
    return text.substr(text.rfind(':') + 1);
  }
  const PythonServer server_;
};

const Proxy &proxy() {
  static const Proxy one;
  return one;
}

Json answer(int status, const std::string &body, Json headers = Json::object()) {
  return {{"how", "answer"}, {"status", status}, {"body", body}, {"headers", std::move(headers)}};
}

Json refusal(int status, const std::string &code, Json headers = Json::object()) {
  return answer(status, "<Error><Code>" + code + "</Code><Message>so it is.</Message></Error>",
                std::move(headers));
}

Json with(Json rule, Json more) {
  rule.update(more);
  return rule;
}

void accidents_are_tried_again(void **) {
  const std::string bytes(100'000, 'x');
  for (const Json &rule :
       {Json{{"how", "slow_down"}}, Json{{"how", "too_many"}}, Json{{"how", "internal"}},
        Json{{"how", "reset"}}, Json{{"how", "reset"}, {"after", true}},
        Json{{"how", "cut_request"}, {"bytes", 20'000}},
        Json{{"how", "flip_request"}, {"bytes", 7}},
        Json{{"how", "skewed_clock"}, {"headers", {{"Date", "Mon, 01 Jan 2024 00:00:00 GMT"}}}},
        answer(502, "<html>bad gateway</html>"), refusal(400, "RequestTimeout"),
        refusal(409, "OperationAborted")}) {
    const auto store = proxy().store(rule);
    store->put("again", text(bytes));
    assert_true(proxy().log()[0]["fault"].is_string());
    assert_true(read("again") == bytes);
  }
  for (const Json &rule :
       {Json{{"how", "cut_answer"}, {"body_bytes", 30'000}}, Json{{"how", "reset"}},
        Json{{"how", "cut_answer"}, {"bytes", 20}}, Json{{"how", "internal"}}}) {
    suite::subject.store = proxy().store(with(rule, {{"method", "GET"}}));
    const std::string version = suite::store().find("again")->version;
    assert_equal(read("again", 0, UINT64_MAX, version).size(), bytes.size());
    suite::subject.store = proxy().store(with(rule, {{"method", "GET"}}));
    assert_true(read("again", 10, 99'000, version) == bytes.substr(10, 99'000));
  }
  suite::subject.store = open_at(s3::config());
  suite::clear("again");
}

// Where it was cut off the rest is asked for, and only of the same object.
void cut_body_is_continued_with_its_own_rest(void **) {
  const std::string bytes(50'000, 'a');
  suite::store().put("cut", text(bytes));
  const std::string version = suite::store().find("cut")->version;
  const auto store = proxy().store({{"how", "cut_answer"}, {"body_bytes", 10'000}});
  const auto sink = std::make_shared<suite::Taken>();
  store->get("cut", 0, bytes.size(), version, sink);
  assert_true(sink->text == bytes);
  assert_int_equal(sink->begun, 1);
  const Json second = proxy().log()[1]["headers"];
  assert_equal(second["range"], Json("bytes=10000-49999"));
  assert_equal(second["if-match"], Json("\"" + version + "\""));
  // Nobody can tell whether it is still the same, as it has just been written.
  const auto other = proxy().store({{"how", "cut_answer"}, {"body_bytes", 10'000}});
  const std::string message =
      expect_error(Code::unavailable, [&] { other->get("cut", 0, 50'000, "", sink); });
  assert_true(contains(message, "may have been replaced"));
  suite::clear("cut");
}

void damaged_bytes_are_told(void **) {
  suite::store().put("damaged", text("0123456789"));
  const auto store =
      proxy().store({{"how", "flip_answer"}, {"bytes", 5}, {"method", "GET"}, {"times", 100}});
  const auto sink = std::make_shared<suite::Taken>();
  expect_error(Code::corrupt, [&] { store->get("damaged", 0, UINT64_MAX, "", sink); });
  suite::clear("damaged");
}

void damaged_lists_are_asked_for_again(void **) {
  suite::store().put("list/a", text("1"));
  for (const char *body : {"", "<ListBucketResult>", "<html></html>",
                           "<ListBucketResult><Contents/>"
                           "</ListBucketResult>"}) {
    suite::subject.store = proxy().store(answer(200, body));
    assert_equal(suite::keys("list/"), std::vector<std::string>{"list/a"});
  }
  const char *foreign =
      "<ListBucketResult><Contents><Key>other</Key><Size>1</Size></Contents></ListBucketResult>";
  suite::subject.store = proxy().store(answer(200, foreign));
  expect_error(Code::corrupt, [] { suite::keys("list/"); });
  const char *endless =
      "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t"
      "</NextContinuationToken></ListBucketResult>";
  suite::subject.store = proxy().store(with(answer(200, endless), {{"times", 100}}));
  expect_error(Code::corrupt, [] { suite::keys("list/"); });
  suite::subject.store = open_at(s3::config());
  suite::clear("list/");
}

// What the store says of single keys counts.
void key_that_is_not_removed_is_named(void **) {
  suite::store().put("kept/a", text("1"));
  const auto result = [](const char *code) {
    return answer(200, std::string("<DeleteResult><Error><Key>kept/a</Key><Code>") + code +
                           "</Code><Message>m</Message></Error></DeleteResult>");
  };
  const auto store = proxy().store(result("AccessDenied"));
  const std::string message = expect_error(Code::access, [&] { store->remove({"kept/a"}); });
  assert_true(contains(message, "'kept/a'"));
  proxy().store(result("InternalError"))->remove({"kept/a"});
  assert_false(suite::store().find("kept/a").has_value());
}

void completion_is_what_stands_there(void **) {
  const std::string error = "<Error><Code>InternalError</Code><Message>m</Message></Error>";
  const std::string other =
      "<CompleteMultipartUploadResult><ETag>e</ETag><ChecksumCRC32C>AAAAAA==-1</ChecksumCRC32C>"
      "</CompleteMultipartUploadResult>";
  for (const Json &rule :
       {answer(200, error), answer(200, "<Complete"), Json{{"how", "reset"}, {"after", true}},
        Json{{"how", "error_in_success"}, {"after", true}}}) {
    const auto store = proxy().store(with(rule, {{"method", "POST"}, {"target", "uploadId="}}));
    const std::string upload = store->begin_parts("complete");
    const StoredPart part = store->put_part("complete", upload, 1, text("part"));
    store->complete_parts("complete", upload, {part});
    assert_equal(read("complete"), "part");
    suite::clear("complete");
  }
  const auto store =
      proxy().store(with(answer(200, other), {{"method", "POST"}, {"target", "uploadId="}}));
  const std::string upload = store->begin_parts("complete");
  const StoredPart part = store->put_part("complete", upload, 1, text("part"));
  expect_error(Code::corrupt, [&] { store->complete_parts("complete", upload, {part}); });
  store->abort_parts("complete", upload);
  // It is not there, and nothing of the kind ever was.
  expect_error(Code::not_found, [&] { store->complete_parts("complete", upload, {part}); });
}

void new_object_whose_answer_is_lost_is_ours(void **) {
  const auto store = proxy().store({{"how", "reset"}, {"after", true}, {"method", "PUT"}});
  store->put("mine", text("bytes"), true);
  assert_equal(read("mine"), "bytes");
  suite::clear("mine");
}

// Signed again: by the store's clock, for the bucket's region.
void request_is_signed_as_the_store_wants_it(void **) {
  const auto signed_with = [](const Json &record) {
    return record["headers"]["authorization"].get<std::string>();
  };
  const Json moved =
      refusal(400, "AuthorizationHeaderMalformed", {{"x-amz-bucket-region", "eu-west-1"}});
  for (const Json &rule :
       {moved, refusal(301, "PermanentRedirect", {{"x-amz-bucket-region", "eu-west-1"}})}) {
    const auto store = proxy().store(with(rule, {{"times", 1}}));
    try {
      store->put("signed", text("x"));
    } catch (const Error &) {
      // A store that knows one region only, and says so.
    }
    const Json log = proxy().log();
    assert_true(contains(signed_with(log[0]), "/us-east-1/s3/"));
    assert_true(contains(signed_with(log[1]), "/eu-west-1/s3/"));
  }
  const auto store = proxy().store(
      {{"how", "skewed_clock"}, {"headers", {{"Date", "Mon, 01 Jan 2024 00:00:00 GMT"}}}});
  store->put("signed", text("x"));
  const Json log = proxy().log();  // the store itself says what time it really is
  assert_true(contains(log[1]["headers"]["x-amz-date"].get<std::string>(), "20240101T"));
  assert_false(contains(log[2]["headers"]["x-amz-date"].get<std::string>(), "20240101T"));
  suite::clear("signed");
}

void refusals_of_s3_say_what_to_do(void **) {
  struct Case {
    Json rule;
    Code code;
    const char *part;
  };
  for (const Case &one :
       {Case{refusal(403, "AccessDenied"), Code::access, "docs/object-stores.md"},
        Case{refusal(403, "SignatureDoesNotMatch"), Code::access, "secret key"},
        Case{refusal(404, "NoSuchBucket"), Code::not_found, "so it is; make the bucket"},
        Case{refusal(403, "InvalidObjectState"), Code::state, "restore"},
        Case{refusal(400, "KMS.DisabledException"), Code::access, "sse_kms_key_id"},
        Case{refusal(507, "XMinioStorageFull"), Code::full, "make room"},
        Case{refusal(400, "Odd\nOne"), Code::invalid, "400 Odd"},
        Case{refusal(501, "NotImplemented"), Code::unsupported, "so it is"},
        Case{answer(403, ""), Code::access, "403"},
        Case{refusal(500, "InternalError"), Code::unavailable, "tried 4 times"},
        Case{refusal(503, "SlowDown"), Code::busy, "SlowDown"}}) {
    Json rule = with(one.rule, {{"times", 1000}});
    RequestScope scope(nullptr, 4);  // throttling has no end else
    const auto store = proxy().store(rule)->within(scope);
    const std::string message = expect_error(one.code, [&] { store->put("key", text("x")); });
    assert_true(contains(message, one.part));
    assert_true(contains(message, "storing 's3://"));
  }
}

void wrong_keys_and_buckets_of_s3_are_told(void **) {
  Json config = s3::config();
  config["bucket"] = "no-such-bucket-" + std::to_string(getpid());
  expect_error(Code::not_found, [&] { open_at(config)->put("key", text("x")); });
  config = s3::config();
  config["access_key"] = "nobody";
  std::string message = expect_error(Code::access, [&] { open_at(config)->put("key", text("x")); });
  assert_true(contains(message, "check the access key"));
  config = s3::config();
  config["secret_key"] = "wrong-secret";
  message = expect_error(Code::access, [&] { open_at(config)->put("key", text("x")); });
  assert_true(contains(message, "check the secret key"));
  assert_false(contains(message, "wrong-secret"));
  config["endpoint_url"] = "http://127.0.0.1:1";
  message = expect_error(Code::unavailable, [&] { open_at(config)->put("key", text("x")); });
  assert_true(contains(message, "tried 4 times"));
}

// A refusal of HEAD has no words of its own.
void reason_of_a_refusal_is_asked_for(void **) {
  Json config = s3::config();
  config["secret_key"] = "wrong-secret";
  const std::string message = expect_error(Code::access, [&] { open_at(config)->find("key"); });
  assert_true(contains(message, "looking at 's3://"));
  assert_true(contains(message, "check the secret key"));
}

void what_hangs_is_given_up(void **) {
  RequestPolicy policy{.attempts = 2};
  policy.rate_floor.patience = std::chrono::seconds{1};
  for (const char *how : {"hang", "stall_answer"}) {
    const auto store = proxy().store(
        {{"how", how}, {"bytes", 20}, {"method", "GET"}, {"times", 10}}, Json::object(), policy);
    const std::string message = expect_error(Code::timeout, [&] {
      suite::subject.store = store;
      read("key");
    });
    assert_true(contains(message, "reading 's3://"));
    assert_true(contains(message, "tried 2 times"));
  }
  suite::subject.store = open_at(s3::config());
}

void other_checksums_and_options_are_taken(void **) {
  for (const Json &changes :
       {Json{{"checksum", "md5"}}, Json{{"sign_payload", true}}, Json{{"requester_pays", true}},
        Json{{"storage_class", "STANDARD"}}}) {
    const auto store = proxy().store(Json::array(), changes);
    store->put("options", text("bytes"));
    const std::string upload = store->begin_parts("options");
    const StoredPart part = store->put_part("options", upload, 1, text("part"));
    store->complete_parts("options", upload, {part});
    assert_equal(read("options"), "part");
    store->remove({"options"});
  }
}

int run_faults() {
  suite::subject.store = open_at(s3::config());
  const CMUnitTest tests[] = {
      cmocka_unit_test(accidents_are_tried_again),
      cmocka_unit_test(cut_body_is_continued_with_its_own_rest),
      cmocka_unit_test(damaged_bytes_are_told),
      cmocka_unit_test(damaged_lists_are_asked_for_again),
      cmocka_unit_test(key_that_is_not_removed_is_named),
      cmocka_unit_test(completion_is_what_stands_there),
      cmocka_unit_test(new_object_whose_answer_is_lost_is_ours),
      cmocka_unit_test(request_is_signed_as_the_store_wants_it),
      cmocka_unit_test(refusals_of_s3_say_what_to_do),
      cmocka_unit_test(wrong_keys_and_buckets_of_s3_are_told),
      cmocka_unit_test(reason_of_a_refusal_is_asked_for),
      cmocka_unit_test(what_hangs_is_given_up),
      cmocka_unit_test(other_checksums_and_options_are_taken),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

}  // namespace

}  // namespace det::cloud::s3

int test_s3_faults() { return det::cloud::s3::run_faults(); }
