// Every place where credentials may be, in its turn.
#include <chrono>

#include "core/cloud/s3/aws_profiles.h"
#include "core/cloud/s3/s3_credentials.h"
#include "core/cloud/s3/s3_options.h"
#include "tests/cloud/aws_environment.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/python_server.h"

namespace {

using namespace det;
using namespace det::cloud;

// What stays within a test comes from here; secrets are called so, and stand in no message.
const PythonServer &services() {
  static const PythonServer server("credential_services");
  return server;
}

std::shared_ptr<CredentialChain> chain(S3Options options = {}) {
  const auto sink = [](LogLevel, const std::string &line) {
    assert_false(contains(line, "secret-of"));
  };
  return credential_chain(options, std::make_shared<Logger>(LogLevel::debug, sink));
}

std::string found_key(const S3Options &options = {}) {
  const Credentials found = chain(options)->get();
  assert_false(found.secret_key.empty());
  return found.access_key;
}

std::string refusal(const S3Options &options = {}) {
  const std::string message = expect_error(Code::access, [&] { chain(options)->get(); });
  assert_false(contains(message, "secret-of"));
  return message;
}

void ini_files_are_read_as_aws_tools_read_them(void **) {
  const auto read = parse_ini(
      "# comment\n[default]\nregion=eu-west-1\r\n  ; more\nkey = a = b # c\n"
      "s3 =\n  addressing_style = path\n\tuse_x = y\nafter = 1\n"
      "[ profile   two words ]\nempty =\n[default]\nlater = 2",
      "the file");
  const IniSection expected{
      {"region", "eu-west-1"}, {"key", "a = b # c"}, {"s3", ""},    {"s3.addressing_style", "path"},
      {"s3.use_x", "y"},       {"after", "1"},       {"later", "2"}};
  assert_true(read.at("default") == expected);
  assert_true(read.count("profile two words") == 1);
  assert_true(parse_ini("", "the file").empty());
  for (const char *text : {"secret-of-me = 1\n", "[default]\nsecret-of-me\n", "[secret-of-me\n"}) {
    const std::string message = expect_error(Code::invalid, [&] { parse_ini(text, "the file"); });
    assert_true(contains(message, "reading the file: line "));
    assert_false(contains(message, "secret-of"));
  }
}

void explicit_ones_come_first_then_the_environment(void **) {
  const AwsEnvironment aws;
  assert_true(contains(refusal(), "AWS_ACCESS_KEY_ID"));
  aws.write("credentials", "[default]\naws_access_key_id = file\naws_secret_access_key = secret\n");
  assert_equal(found_key(), "file");
  aws.set("AWS_ACCESS_KEY_ID", "environment");
  refusal();  // one without the other
  aws.set("AWS_SECRET_ACCESS_KEY", "secret-of-environment");
  aws.set("AWS_SESSION_TOKEN", "token");
  assert_equal(found_key(), "environment");
  assert_equal(chain()->get().session_token, "token");
  S3Options given;
  given.credentials = Credentials{"given", "secret-of-given", "", ""};
  assert_equal(found_key(given), "given");
}

void profile_is_the_one_that_was_chosen(void **) {
  const AwsEnvironment aws;
  aws.write("credentials",
            "[default]\naws_access_key_id = first\naws_secret_access_key = secret\n"
            "[other]\naws_access_key_id = second\naws_secret_access_key = secret\n"
            "[half]\naws_access_key_id = third\n");
  aws.write("config",
            "[profile conf]\naws_access_key_id = fourth\naws_secret_access_key = secret\n");
  S3Options options;
  for (const auto &[name, key] :
       std::map<std::string, std::string>{{"", "first"}, {"other", "second"}, {"conf", "fourth"}}) {
    options.profile = name;
    assert_equal(found_key(options), key);
  }
  options.profile = "half";
  assert_true(contains(refusal(options), "both"));
  options.profile = "nobody";
  assert_true(contains(refusal(options), "no such profile"));
  aws.set("AWS_PROFILE", "other");
  assert_equal(found_key(), "second");
  // Who names a profile in the configuration means it.
  aws.set("AWS_ACCESS_KEY_ID", "environment");
  aws.set("AWS_SECRET_ACCESS_KEY", "secret");
  options.profile = "conf";
  assert_equal(found_key(options), "fourth");
}

void file_is_read_again_when_it_has_changed(void **) {
  const AwsEnvironment aws;
  aws.write("credentials", "[default]\naws_access_key_id = old\naws_secret_access_key = secret\n");
  const auto file =
      shared_file_credentials({"default", "", {}, std::make_shared<Logger>(LogLevel::error)});
  const auto key = [&] { return file->load()->value.access_key; };
  assert_equal(key(), "old");
  for (const char *half :
       {"[default]\naws_access_key_id = ", "[defa", ""}) {  // somebody is writing
    aws.write("credentials", half);
    assert_equal(key(), "old");
  }
  aws.write("credentials",
            "[default]\naws_access_key_id = newer\naws_secret_access_key = secret\n");
  assert_equal(key(), "newer");
  const auto ends = file->load()->ends;
  assert_true(ends <= std::chrono::system_clock::now() + std::chrono::seconds{2});
}

void program_gives_them(void **) {
  const AwsEnvironment aws;
  aws.write("config",
            "[default]\ncredential_process = echo '{\"Version\": 1, \"AccessKeyId\": \"program\", "
            "\"SecretAccessKey\": \"secret-of-program\", \"SessionToken\": \"t\"}'\n"
            "[profile failing]\ncredential_process = exit 3\n"
            "[profile broken]\ncredential_process = echo '{\"SecretAccessKey\": \"secret-of-it'\n"
            "[profile ended]\ncredential_process = echo '{\"AccessKeyId\": \"k\", "
            "\"SecretAccessKey\": \"secret-of-it\", \"Expiration\": \"2020-01-01T00:00:00Z\"}'\n");
  assert_equal(found_key(), "program");
  S3Options options;
  for (const auto &[name, part] : std::map<std::string, std::string>{
           {"failing", "status 3"}, {"broken", "no JSON"}, {"ended", "have ended"}}) {
    options.profile = name;
    assert_true(contains(refusal(options), part));
  }
}

void roles_are_taken_on(void **) {
  const AwsEnvironment aws;
  aws.set("AWS_ENDPOINT_URL_STS", services().url());
  aws.write("credentials",
            "[base]\naws_access_key_id = base\naws_secret_access_key = secret\n"
            "[itself]\naws_access_key_id = own\naws_secret_access_key = secret\n");
  aws.write("token", "identity\n");
  aws.write("config",
            "[profile one]\nrole_arn = role-1\nsource_profile = base\n"
            "[profile two]\nrole_arn = role-2\nsource_profile = one\nexternal_id = x y\n"
            "[profile itself]\nrole_arn = role-3\nsource_profile = itself\n"
            "[profile placed]\nrole_arn = role-4\ncredential_source = Environment\n"
            "[profile web]\nrole_arn = role-5\nweb_identity_token_file = " +
                aws.path("token") +
                "\n[profile round]\nrole_arn = r\nsource_profile = about\n"
                "[profile about]\nrole_arn = r\nsource_profile = round\n"
                "[profile lonely]\nrole_arn = r\n"
                "[profile typed]\nrole_arn = r\nsource_profile = base\nmfa_serial = m\n"
                "[profile refused]\nrole_arn = forbidden\nsource_profile = base\n");
  aws.set("AWS_ACCESS_KEY_ID", "environment");
  aws.set("AWS_SECRET_ACCESS_KEY", "secret-of-environment");
  S3Options options;
  for (const auto &[name, key] :
       std::map<std::string, std::string>{{"one", "role-1 by base"},
                                          {"two", "role-2 by role-1 by base"},
                                          {"itself", "role-3 by own"},
                                          {"placed", "role-4 by environment"},
                                          {"web", "role-5 by identity"}}) {
    options.profile = name;
    assert_equal(found_key(options), key);
    assert_equal(chain(options)->get().session_token, "token-of-role");
  }
  for (const auto &[name, part] : std::map<std::string, std::string>{
           {"round", "its own source_profile"},
           {"lonely", "needs a source_profile"},
           {"typed", "mfa_serial"},
           {"refused", "403 AccessDenied: not authorized to perform sts:AssumeRole"}}) {
    options.profile = name;
    assert_true(contains(refusal(options), part));
  }
}

void web_identity_gives_them(void **) {
  const AwsEnvironment aws;
  aws.set("AWS_ENDPOINT_URL_STS", services().url());
  aws.write("token", "identity");
  aws.set("AWS_WEB_IDENTITY_TOKEN_FILE", aws.path("token"));
  refusal();  // no role
  aws.set("AWS_ROLE_ARN", "role");
  assert_equal(found_key(), "role by identity");
}

void single_sign_on_gives_them(void **) {
  const AwsEnvironment aws;
  aws.set("AWS_ENDPOINT_URL_SSO", services().url());
  const std::string rest = "sso_account_id = 123456789012\nsso_role_name = Role\n";
  aws.write("config",
            "[profile old]\nsso_start_url = https://start\nsso_region = eu-west-1\n" + rest +
                "[profile new]\nsso_session = work\n" + rest +
                "[sso-session work]\nsso_region = eu-west-1\nsso_start_url = https://start\n");
  S3Options options;
  options.profile = "old";
  assert_true(contains(refusal(options), "aws sso login --profile old"));
  // The SHA-1 of "https://start" and of "work".
  const std::string kept = R"({"accessToken": "token-of-login", "expiresAt": ")";
  aws.write("sso/cache/6ad0e7e61d1f47e491ea32c2031add41ef92e07d.json",
            kept + "2999-01-01T00:00:00Z\"}");
  aws.write("sso/cache/e274eeff768c6396088ec6eb091f4bf4d47ab1e0.json",
            kept + "2020-01-01T00:00:00Z\"}");
  assert_equal(found_key(options), "sso");
  options.profile = "new";
  assert_true(contains(refusal(options), "the login has ended"));
}

void container_gives_them(void **) {
  const AwsEnvironment aws;
  const char *uri = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
  aws.set(uri, services().url("/container"));
  assert_true(contains(refusal(), "403"));
  aws.set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "token of container");
  assert_equal(found_key(), "container");
  aws.write("token", "token of container\n");
  aws.set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "another");
  aws.set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", aws.path("token"));
  assert_equal(found_key(), "container");
  for (const auto &[path, part] : std::map<std::string, std::string>{
           {"/container/ended", "have ended"}, {"/container/broken", "no JSON"}}) {
    aws.set(uri, services().url(path));
    assert_true(contains(refusal(), part));
  }
  for (const char *url : {"http://example.com/", "http://10.0.0.1/", "ftp://localhost/", "/path",
                          "http://127.0.0.1.example.com/", "https://u:secret-of-u@host/"}) {
    aws.set(uri, url);
    assert_true(contains(refusal(), "must begin with https://"));
  }
}

void instance_gives_them(void **) {
  const AwsEnvironment aws;
  aws.set("AWS_EC2_METADATA_DISABLED", "false");
  const char *endpoint = "AWS_EC2_METADATA_SERVICE_ENDPOINT";
  aws.set(endpoint, services().url());
  assert_equal(found_key(), "instance");
  aws.set(endpoint, services().url("/v1"));
  assert_equal(found_key(), "instance");
  aws.set("AWS_EC2_METADATA_V1_DISABLED", "true");
  assert_true(contains(refusal(), "404 for a token"));
  aws.set(endpoint, services().url("/none"));
  assert_true(contains(refusal(), "none found"));
  aws.set(endpoint, "http://127.0.0.1:1");
  assert_true(contains(refusal(), "none found"));
}

}  // namespace

int test_s3_credentials() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(ini_files_are_read_as_aws_tools_read_them),
      cmocka_unit_test(explicit_ones_come_first_then_the_environment),
      cmocka_unit_test(profile_is_the_one_that_was_chosen),
      cmocka_unit_test(file_is_read_again_when_it_has_changed),
      cmocka_unit_test(program_gives_them),
      cmocka_unit_test(roles_are_taken_on),
      cmocka_unit_test(web_identity_gives_them),
      cmocka_unit_test(single_sign_on_gives_them),
      cmocka_unit_test(container_gives_them),
      cmocka_unit_test(instance_gives_them),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
