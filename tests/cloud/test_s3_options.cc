// What checkpoint_storage, the environment and a profile make of a bucket, and where it is asked.
#include "core/base/json.h"
#include "core/cloud/s3/s3_options.h"
#include "tests/cloud/aws_environment.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"

namespace {

using namespace det;
using namespace det::cloud;

S3Options read(Json config) {
  if (!config.contains("bucket")) config["bucket"] = "b";
  Logger logger(LogLevel::error);
  return S3Options::from(config, logger);
}

std::string url(const Json &config, const std::string &path = "/k") {
  return S3Endpoint(read(config)).url(path);
}

void url_follows_the_endpoint_and_the_style(void **) {
  const AwsEnvironment aws;
  const std::pair<Json, std::string> cases[] = {
      {Json::object(), "https://b.s3.us-east-1.amazonaws.com/k"},
      {{{"region", "eu-west-1"}}, "https://b.s3.eu-west-1.amazonaws.com/k"},
      {{{"region", "cn-north-1"}}, "https://b.s3.cn-north-1.amazonaws.com.cn/k"},
      {{{"use_fips", true}, {"use_dualstack", true}},
       "https://b.s3-fips.dualstack.us-east-1.amazonaws.com/k"},
      {{{"addressing_style", "path"}}, "https://s3.us-east-1.amazonaws.com/b/k"},
      {{{"bucket", "a.dotted"}}, "https://s3.us-east-1.amazonaws.com/a.dotted/k"},
      {{{"bucket", "Capitals"}}, "https://s3.us-east-1.amazonaws.com/Capitals/k"},
      {{{"endpoint_url", "http://h:9000/"}}, "http://h:9000/b/k"},
      {{{"endpoint_url", "http://h:9000"}, {"addressing_style", "virtual"}}, "http://b.h:9000/k"},
      {{{"endpoint_url", nullptr},
        {"prefix", "p"},
        {"save_trial_best", 1},
        {"gc_latest_per_trial", true},
        {"temp_dir", "/t"}},
       "https://b.s3.us-east-1.amazonaws.com/k"},
  };
  for (const auto &[config, expected] : cases) assert_equal(url(config), expected);
}

// Else a signature covers the bytes.
void only_what_leaves_this_machine_in_the_clear_is_unprotected(void **) {
  const AwsEnvironment aws;
  const auto is_protected = [](const Json &config) {
    return S3Endpoint(read(config)).is_protected();
  };
  assert_true(is_protected(Json::object()));
  for (const char *url : {"https://h:9000", "http://127.0.0.1:9000", "http://127.8.9.1",
                          "http://localhost:9000", "http://[::1]:9000"})
    assert_true(is_protected({{"endpoint_url", url}}));
  for (const char *url : {"http://h:9000", "http://10.0.0.1:9000", "http://127.0.0.1.example.com",
                          "http://localhost.example.com", "http://[2001:db8::1]:9000"})
    assert_false(is_protected({{"endpoint_url", url}}));
  // The bucket's name makes it another host.
  assert_false(
      is_protected({{"endpoint_url", "http://localhost"}, {"addressing_style", "virtual"}}));
}

void region_is_learned(void **) {
  const AwsEnvironment aws;
  S3Endpoint endpoint(read({{"region", "us-west-2"}}));
  assert_false(endpoint.move_to("us-west-2"));
  for (const char *other : {"", "evil.example.com/", "a b"}) assert_false(endpoint.move_to(other));
  assert_true(endpoint.move_to("eu-central-1"));
  assert_equal(endpoint.url("/"), "https://b.s3.eu-central-1.amazonaws.com/");
}

void environment_and_profile_say_what_the_configuration_does_not(void **) {
  const AwsEnvironment aws;
  aws.write("config",
            "[default]\nregion = eu-west-1\ns3 =\n  addressing_style = path\n"
            "[profile other]\nservices = mine\nendpoint_url = http://all\n"
            "[services mine]\ns3 =\n  endpoint_url = http://of-s3\n");
  assert_equal(url(Json::object()), "https://s3.eu-west-1.amazonaws.com/b/k");
  aws.set("AWS_DEFAULT_REGION", "eu-west-2");
  assert_equal(read(Json::object()).region, "eu-west-2");
  aws.set("AWS_REGION", "eu-west-3");
  assert_equal(read(Json::object()).region, "eu-west-3");
  assert_equal(read({{"region", "us-east-2"}}).region, "us-east-2");
  assert_equal(read({{"profile", "other"}}).endpoint_url, "http://of-s3");
  aws.set("AWS_ENDPOINT_URL", "http://for-all");
  assert_equal(read({{"profile", "other"}}).endpoint_url, "http://for-all");
  aws.set("AWS_ENDPOINT_URL_S3", "http://for-s3");
  assert_equal(read({{"profile", "other"}}).endpoint_url, "http://for-s3");
  assert_equal(read({{"endpoint_url", "http://given"}}).endpoint_url, "http://given");
}

void mistakes_are_refused_without_their_secrets(void **) {
  const AwsEnvironment aws;
  const std::pair<Json, const char *> cases[] = {
      {{{"access_key", "k"}}, "both access_key and secret_key"},
      {{{"secret_key", "secret-s"}}, "both access_key and secret_key"},
      {{{"session_token", "secret-s"}}, "without access_key"},
      {{{"buckett", "b"}}, "'buckett'"},
      {{{"bucket", ""}}, "'bucket'"},
      {{{"bucket", "arn:aws:s3:::b"}}, "'bucket'"},
      {{{"bucket", "b/c"}}, "'bucket'"},
      {{{"bucket", 1}}, "'bucket'"},
      {{{"region", "eu-west-1.example.com"}}, "is no region"},
      {{{"endpoint_url", "h:9000"}}, "https://host:port"},
      {{{"endpoint_url", "http://u:secret-s@h"}}, "https://host:port"},
      {{{"addressing_style", "odd"}}, "auto, path, virtual"},
      {{{"checksum", "crc64"}}, "crc32c, md5"},
      {{{"sse_kms_key_id", "k"}}, "aws:kms"},
      {{{"verify", "no"}}, "'verify'"},
  };
  for (const auto &[config, part] : cases) {
    const Json &given = config;
    const std::string message = expect_error(Code::invalid, [&] { url(given); });
    assert_true(contains(message, part));
    assert_false(contains(message, "secret-s"));
  }
  expect_error(Code::not_found, [] { read({{"ca_bundle", "/no/such/file"}}); });
}

}  // namespace

int test_s3_options() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(url_follows_the_endpoint_and_the_style),
      cmocka_unit_test(only_what_leaves_this_machine_in_the_clear_is_unprotected),
      cmocka_unit_test(region_is_learned),
      cmocka_unit_test(environment_and_profile_say_what_the_configuration_does_not),
      cmocka_unit_test(mistakes_are_refused_without_their_secrets),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
