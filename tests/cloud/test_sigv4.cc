// The examples that AWS publishes for signatures in the Authorization header of S3 requests.
#include "core/cloud/s3/sigv4.h"

#include "core/cloud/digest.h"
#include "tests/cmocka.h"

namespace {

using namespace det;
using namespace det::cloud;

const Credentials example{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "",
                          ""};
constexpr std::time_t at = 1369353600;  // 2013-05-24

std::string header_of(const http::HttpRequest &request, const std::string &name) {
  for (const http::HttpHeader &header : request.headers)
    if (header.name == name) return header.value;
  return {};
}

std::string signature_of(http::HttpRequest request, const std::string &body = "") {
  request.url = "https://examplebucket.s3.amazonaws.com" + request.url;
  request.headers.push_back({"x-amz-content-sha256", to_hex(sha256(body))});
  SigV4 signer("s3");
  signer.sign(request, example, "us-east-1", at, to_hex(sha256(body)));
  assert_equal(header_of(request, "x-amz-date"), "20130524T000000Z");
  const std::string header = header_of(request, "Authorization");
  assert_true(
      header.starts_with("AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/"
                         "s3/aws4_request, SignedHeaders="));
  return header.substr(header.find("Signature=") + 10);
}

void published_examples_are_signed_alike(void **) {
  assert_equal(signature_of({.url = "/test.txt", .headers = {{"Range", "bytes=0-9"}}}),
               "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  assert_equal(signature_of({.method = "PUT",
                             .url = "/test%24file.text",
                             .headers = {{"Date", "Fri, 24 May 2013 00:00:00 GMT"},
                                         {"x-amz-storage-class", "REDUCED_REDUNDANCY"}}},
                            "Welcome to Amazon S3."),
               "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
  assert_equal(signature_of({.url = "/?lifecycle"}),
               "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  assert_equal(signature_of({.url = "/?prefix=J&max-keys=2"}),
               "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

// The port is a part of the host unless it goes without saying.
void host_is_signed_as_it_is_sent(void **) {
  SigV4 signer("s3");
  const auto sign = [&](const std::string &url) {
    http::HttpRequest request{.url = url};
    signer.sign(request, example, "us-east-1", at, unsigned_payload);
    return header_of(request, "Authorization");
  };
  assert_equal(sign("https://h:443/k"), sign("https://h/k"));
  assert_equal(sign("http://h:80/k"), sign("http://h/k"));
  assert_false(sign("http://h:443/k") == sign("http://h/k"));
  assert_equal(sign("https://h"), sign("https://h/"));
}

void session_token_is_signed(void **) {
  SigV4 signer("s3");
  Credentials temporary = example;
  temporary.session_token = "token";
  http::HttpRequest request{.url = "https://h/k"};
  signer.sign(request, temporary, "us-east-1", at, unsigned_payload);
  assert_equal(header_of(request, "x-amz-security-token"), "token");
  assert_true(header_of(request, "Authorization").find("x-amz-security-token,") !=
              std::string::npos);
}

// The key that is kept is that of these credentials, this region and this day.
void kept_key_is_not_used_for_others(void **) {
  SigV4 signer("s3");
  const auto sign = [](SigV4 &with, const Credentials &who, const std::string &region,
                       std::time_t now) {
    http::HttpRequest request{.url = "https://h/k"};
    with.sign(request, who, region, now, unsigned_payload);
    return header_of(request, "Authorization");
  };
  Credentials other = example;
  other.secret_key += "2";
  for (const Credentials &who : {example, other})
    for (const char *region : {"us-east-1", "eu-west-1"})
      for (const std::time_t now : {at, at + 86400, at}) {
        SigV4 fresh("s3");
        assert_equal(sign(signer, who, region, now), sign(fresh, who, region, now));
      }
}

}  // namespace

int test_sigv4() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(published_examples_are_signed_alike),
      cmocka_unit_test(host_is_signed_as_it_is_sent),
      cmocka_unit_test(session_token_is_signed),
      cmocka_unit_test(kept_key_is_not_used_for_others),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
