// Application default credentials of every kind, and services that give out their tokens.
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "core/base/clock.h"
#include "core/base/text/base64.h"
#include "tests/cloud/google_world.h"

namespace {

using namespace det;
using namespace det::cloud;
using google::World;

using Key = std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY *)>;

std::string pem_of(const Key &key) {
  const std::unique_ptr<BIO, int (*)(BIO *)> out(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  char *text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<size_t>(size)};
}

std::string from_base64_of_url(std::string text) {
  std::replace(text.begin(), text.end(), '-', '+');
  std::replace(text.begin(), text.end(), '_', '/');
  while (text.size() % 4 != 0) text += '=';
  return from_base64(text).value();
}

bool is_signed_by(const Key &key, const std::string &text, const std::string &signature) {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX *)> context(EVP_MD_CTX_new(),
                                                                    EVP_MD_CTX_free);
  EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get());
  return EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char *>(signature.data()),
                          signature.size(), reinterpret_cast<const unsigned char *>(text.data()),
                          text.size()) == 1;
}

void service_account_signs_for_its_token(void **) {
  const World world;
  const Key key(EVP_RSA_gen(2048), EVP_PKEY_free);
  const std::string url = google::services().url("/token");
  world.use({{"type", "service_account"},
             {"client_email", "job@project.iam"},
             {"private_key_id", "key-1"},
             {"private_key", pem_of(key)},
             {"token_uri", url}});
  World::answer({{"POST /token", {google::token_answer("token-1")}}});
  const auto credentials = application_default_credentials(World::context());
  assert_equal(credentials->name(), "the service account 'job@project.iam'");
  const AccessToken token = credentials->fetch(nullptr);
  assert_equal(token.value, "token-1");
  const auto lasts = token.ends - std::chrono::system_clock::now();
  assert_true(lasts > std::chrono::minutes{58} && lasts < std::chrono::minutes{60});

  const Json form = World::form(World::asked()[0]);
  assert_equal(form["grant_type"], Json("urn:ietf:params:oauth:grant-type:jwt-bearer"));
  const std::string assertion = form["assertion"];
  const size_t first = assertion.find('.'), second = assertion.find('.', first + 1);
  assert_equal(parse_json(from_base64_of_url(assertion.substr(0, first)), "header"),
               Json({{"alg", "RS256"}, {"typ", "JWT"}, {"kid", "key-1"}}));
  const Json claims =
      parse_json(from_base64_of_url(assertion.substr(first + 1, second - first - 1)), "claims");
  assert_equal(claims["iss"], Json("job@project.iam"));
  assert_equal(claims["scope"], Json("the-scope"));
  assert_equal(claims["aud"], Json(url));
  assert_true(std::abs(claims["iat"].get<int64_t>() - now_us() / 1'000'000) < 60);
  assert_equal(claims["exp"].get<int64_t>() - claims["iat"].get<int64_t>(), 3600);
  assert_true(is_signed_by(key, assertion.substr(0, second),
                           from_base64_of_url(assertion.substr(second + 1))));
}

void user_of_gcloud_refreshes(void **) {
  const World world;
  world.file("application_default_credentials.json", google::user().dump());
  World::answer({{"POST /token", {google::token_answer("token-2")}}});
  const auto credentials = application_default_credentials(World::context());
  assert_equal(credentials->quota_project, "project-of-file");
  assert_equal(credentials->fetch(nullptr).value, "token-2");
  assert_equal(World::form(World::asked()[0]), Json({{"grant_type", "refresh_token"},
                                                     {"refresh_token", "secret-to-refresh"},
                                                     {"client_id", "the-client"},
                                                     {"client_secret", "secret-of-client"}}));
  World::set("GOOGLE_CLOUD_QUOTA_PROJECT", "project-of-variable");
  assert_equal(application_default_credentials(World::context())->quota_project,
               "project-of-variable");
}

Json workload(const Json &source) {
  return {{"type", "external_account"},
          {"audience", "//iam/pool"},
          {"subject_token_type", "urn:ietf:params:oauth:token-type:jwt"},
          {"token_url", google::services().url("/sts")},
          {"credential_source", source}};
}

void workload_identity_is_exchanged_and_acts_as_an_account(void **) {
  const World world;
  const std::string path = "/accounts/job@project.iam:generateAccessToken";
  Json credentials =
      workload({{"file", world.file("subject", "{\"jwt\": \"subject-1\"}")},
                {"format", {{"type", "json"}, {"subject_token_field_name", "jwt"}}}});
  credentials["service_account_impersonation_url"] = google::services().url(path);
  credentials["service_account_impersonation"] = {{"token_lifetime_seconds", 600}};
  world.use(credentials);
  World::answer(
      {{"POST /sts", {google::token_answer("federated")}},
       {"POST " + path,
        {{{"body",
           {{"accessToken", "of-the-account"}, {"expireTime", "2099-01-01T00:00:00Z"}}}}}}});
  const AccessToken token = application_default_credentials(World::context())->fetch(nullptr);
  assert_equal(token.value, "of-the-account");
  assert_true(token.ends > std::chrono::system_clock::now() + std::chrono::hours{24});
  const Json asked = World::asked();
  assert_equal(World::form(asked[0]),
               Json({{"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
                     {"requested_token_type", "urn:ietf:params:oauth:token-type:access_token"},
                     {"audience", "//iam/pool"},
                     {"subject_token_type", "urn:ietf:params:oauth:token-type:jwt"},
                     {"scope", "https://www.googleapis.com/auth/cloud-platform"},
                     {"subject_token", "subject-1"}}));
  assert_equal(asked[1]["headers"]["authorization"], Json("Bearer federated"));
  assert_equal(parse_json(asked[1]["body"].get<std::string>(), "body"),
               Json({{"scope", Json::array({"the-scope"})}, {"lifetime", "600s"}}));
}

void subject_comes_from_a_url(void **) {
  const World world;
  world.use(workload(
      {{"url", google::services().url("/subject?api=1")}, {"headers", {{"Metadata", "True"}}}}));
  World::answer({{"GET /subject", {{{"body", "subject-2\n"}}}},
                 {"POST /sts", {google::token_answer("token-3")}}});
  assert_equal(World::token(), "token-3");
  const Json asked = World::asked();
  assert_equal(asked[0]["query"], Json("api=1"));
  assert_equal(asked[0]["headers"]["metadata"], Json("True"));
  assert_equal(World::form(asked[1])["subject_token"], Json("subject-2"));
  assert_equal(World::form(asked[1])["scope"], Json("the-scope"));
}

void subject_comes_from_a_program_where_that_is_allowed(void **) {
  const World world;
  const std::string program = world.file(
      "program",
      "#!/bin/sh\necho run >> " + (world.directory / "runs").string() +
          "\necho \"{\\\"version\\\": 1, \\\"success\\\": true, \\\"token_type\\\": "
          "\\\"urn:ietf:params:oauth:token-type:id_token\\\", \\\"id_token\\\": "
          "\\\"$GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE\\\", \\\"expiration_time\\\": 4070908800}\" | "
          "tee $GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE\n");
  const std::string kept = (world.directory / "kept.json").string();
  world.use(workload({{"executable", {{"command", "sh " + program}, {"output_file", kept}}}}));
  World::answer({{"POST /sts", {google::token_answer("token-4")}}});
  const std::string message = expect_error(Code::access, [] { World::token(); });
  assert_true(contains(message, "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1"));
  World::set("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1");
  assert_equal(World::token(), "token-4");
  assert_equal(World::token(), "token-4");  // of its output file
  assert_equal(World::form(World::asked()[1])["subject_token"], Json("//iam/pool"));
  assert_equal(read_file(world.directory / "runs"), "run\n");
}

void program_that_fails_says_why(void **) {
  const World world;
  World::set("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1");
  for (const auto &[command, why] :
       {std::pair{"echo secret; exit 7", "its status was 7"},
        std::pair{"echo secret", "it wrote no JSON object"},
        std::pair{"echo '{\"success\": false, \"message\": \"log in\"}'", "log in"},
        std::pair{"echo '{\"success\": true}'", "neither an id_token nor a saml_response"}}) {
    world.use(workload({{"executable", {{"command", command}}}}));
    const std::string message = expect_error(Code::access, [] { World::token(); });
    assert_true(contains(message, why));
    assert_false(contains(message, "secret"));
  }
}

void account_acts_as_another(void **) {
  const World world;
  const std::string path = "/accounts/other@project.iam:generateAccessToken";
  world.use({{"type", "impersonated_service_account"},
             {"service_account_impersonation_url", google::services().url(path)},
             {"delegates", Json::array({"between@project.iam"})},
             {"source_credentials", google::user()}});
  World::answer(
      {{"POST /token", {google::token_answer("of-the-user")}},
       {"POST " + path,
        {{{"body", {{"accessToken", "of-the-other"}, {"expireTime", "2099-01-01T00:00:00Z"}}}}}}});
  const auto credentials = application_default_credentials(World::context());
  assert_equal(credentials->fetch(nullptr).value, "of-the-other");
  assert_true(contains(credentials->name(), "'other@project.iam'"));
  assert_equal(parse_json(World::asked()[1]["body"].get<std::string>(), "body")["delegates"],
               Json::array({"between@project.iam"}));
}

void machine_of_google_has_an_account(void **) {
  const World world;
  World::set("GCE_METADATA_HOST", "127.0.0.1:" + std::to_string(google::services().port()));
  const std::string token_path = "GET /computeMetadata/v1/instance/service-accounts/default/token";
  World::answer({{"GET /computeMetadata/v1/", {{{"headers", {{"Metadata-Flavor", "Google"}}}}}},
                 {token_path, {google::token_answer("of-the-machine")}}});
  assert_equal(World::token(), "of-the-machine");
  for (const Json &request : World::asked())
    assert_equal(request["headers"]["metadata-flavor"], Json("Google"));
  // Something else answers there.
  World::answer({{"GET /computeMetadata/v1/", {{{"body", "a router"}}}},
                 {token_path, {google::token_answer("of-the-machine")}}});
  expect_error(Code::access, [] { World::token(); });
}

void nothing_to_be_found_says_what_to_do(void **) {
  const World world;
  for (const char *check : {"", "true"}) {
    World::set("NO_GCE_CHECK", check);
    const std::string message = expect_error(Code::access, [] { World::token(); });
    assert_true(contains(message, "set GOOGLE_APPLICATION_CREDENTIALS"));
    assert_true(contains(message, "gcloud auth application-default login"));
  }
}

void bad_files_are_refused_without_their_secrets(void **) {
  const World world;
  Json no_key{{"type", "service_account"}, {"client_email", "a"}, {"private_key", "secret"}};
  Json no_token = google::user();
  no_token.erase("refresh_token");
  for (const std::string &text :
       {std::string("{\"private_key\": \"secret"), std::string("[\"secret\"]"),
        std::string("{\"type\": \"secret-less\"}"), no_key.dump(), no_token.dump(),
        workload({{"environment_id", "aws1"}}).dump(),
        workload({{"file", "/no/secrets"}}).dump()}) {
    World::set("GOOGLE_APPLICATION_CREDENTIALS", world.file("bad.json", text));
    const std::string message = expect_error(Code::access, [] { World::token(); });
    assert_true(contains(message, "bad.json") || contains(message, "/no/secrets"));
    assert_false(contains(message, "\"secret"));
    assert_false(contains(message, "secret-of-client"));
  }
  World::set("GOOGLE_APPLICATION_CREDENTIALS", "/no/such/file");
  assert_true(contains(expect_error(Code::access, [] { World::token(); }), "/no/such/file"));
}

void refusals_are_told_and_accidents_tried_again(void **) {
  const World world;
  world.use(google::user());
  World::answer(
      {{"POST /token",
        {{{"status", 400},
          {"body", {{"error", "invalid_grant"}, {"error_description", "Token has expired."}}}}}}});
  const std::string message = expect_error(Code::access, [] { World::token(); });
  assert_true(contains(message, "Token has expired."));
  assert_true(contains(message, "check the clock"));
  assert_false(contains(message, "secret"));
  assert_equal(World::asked().size(), 1);
  World::answer({{"POST /token",
                  {{{"status", 503}}, {{"body", "no JSON"}}, google::token_answer("token-5")}}});
  assert_equal(World::token(), "token-5");
  World::answer({{"POST /token", {{{"status", 500}}}}});
  expect_error(Code::unavailable, [] { World::token(); });
  World::answer({{"POST /token", {{{"body", {{"expires_in", 1}}}}}}});
  expect_error(Code::corrupt, [] { World::token(); });
}

}  // namespace

int test_google_credentials() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(service_account_signs_for_its_token),
      cmocka_unit_test(user_of_gcloud_refreshes),
      cmocka_unit_test(workload_identity_is_exchanged_and_acts_as_an_account),
      cmocka_unit_test(subject_comes_from_a_url),
      cmocka_unit_test(subject_comes_from_a_program_where_that_is_allowed),
      cmocka_unit_test(program_that_fails_says_why),
      cmocka_unit_test(account_acts_as_another),
      cmocka_unit_test(machine_of_google_has_an_account),
      cmocka_unit_test(nothing_to_be_found_says_what_to_do),
      cmocka_unit_test(bad_files_are_refused_without_their_secrets),
      cmocka_unit_test(refusals_are_told_and_accidents_tried_again),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
