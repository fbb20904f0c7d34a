// What comes back: good answers, and every way an answer can be bad.
#include "core/base/json.h"
#include "core/http/date.h"
#include "core/http/failure.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/http/server.h"
#include "tests/http/shareable.h"

namespace {

using namespace det;
using namespace det::http;
using std::chrono::milliseconds;

HttpClient make_client(HttpOptions options = {}) {
  return HttpClient(std::move(options), std::make_shared<Logger>());
}

void request_arrives_as_it_was_given(void **) {
  HttpClient client = make_client();
  HttpRequest request = get("/echo/a%20b?key=value");
  request.method = "PATCH";
  request.headers = {{"Authorization", "Bearer secret"}, {"X-Empty", ""}};
  request.body = "{\"a\":1}";
  const HttpResponse answer = client.perform(request);
  assert_int_equal(answer.status, 200);
  assert_string_equal(answer.content_type.c_str(), "application/json");
  const Json told = parse_json(answer.body, "answer");
  assert_string_equal(told["method"].get<std::string>().c_str(), "PATCH");
  assert_string_equal(told["path"].get<std::string>().c_str(), "/echo/a%20b?key=value");
  assert_string_equal(told["body"].get<std::string>().c_str(), "{\"a\":1}");
  const Json &headers = told["headers"];
  assert_string_equal(headers["authorization"].get<std::string>().c_str(), "Bearer secret");
  assert_string_equal(headers["accept-encoding"].get<std::string>().c_str(), "gzip");
  assert_string_equal(headers["user-agent"].get<std::string>().c_str(), "detcore/" TEST_VERSION);
  assert_true(headers.contains("x-empty"));
  assert_false(headers.contains("content-type"));
}

void bodies_are_optional_with_every_method(void **) {
  HttpClient client = make_client();
  for (const char *method : {"GET", "POST", "PUT", "PATCH", "DELETE", "GET"}) {
    for (const char *body : {"", "text", ""}) {
      HttpRequest request = get("/echo");
      request.method = method;
      request.body = body;
      const Json told = parse_json(client.perform(request).body, "answer");
      assert_string_equal(told["method"].get<std::string>().c_str(), method);
      assert_string_equal(told["body"].get<std::string>().c_str(), body);
    }
  }
}

void gzipped_answer_is_unpacked(void **) {
  HttpClient client = make_client();
  assert_equal(client.perform(get("/gzip?bytes=100000")).body, std::string(100000, 'x'));
}

void truncated_gzip_gives_no_more_than_was_there(void **) {
  HttpClient client = make_client();
  assert_true(client.perform(get("/gzip?bytes=100000&keep=60")).body.size() < 100000);
}

void answers_of_any_status_are_given(void **) {
  HttpClient client = make_client();
  const HttpResponse answer = client.perform(get("/status/404?token=secret"));
  assert_int_equal(answer.status, 404);
  assert_true(contains(answer.body, "so it is"));
  const Error error = response_error(answer, "trial '7'\nnot found");
  assert_int_equal(static_cast<int>(error.code), static_cast<int>(Code::not_found));
  assert_int_equal(error.http_status, 404);
  assert_string_equal(error.what(), ("asking the master (GET " + server().url("/status/404") +
                                     "): status 404: trial '7' not found")
                                        .c_str());
}

void redirect_is_not_followed(void **) {
  const Server other;
  HttpClient client = make_client();
  HttpRequest request = get("/redirect?to=" + other.url("/echo?token=secret"));
  request.headers = {{"Authorization", "Bearer secret"}};
  const HttpResponse answer = client.perform(request);
  assert_int_equal(answer.status, 302);
  assert_int_equal(other.seen("/echo"), 0);
  const std::string message = response_error(answer, "").what();
  assert_true(contains(message, other.url("/echo")));
  assert_false(contains(message, "secret"));
}

void connection_is_kept_between_requests(void **) {
  const Server own;
  HttpClient client = make_client();
  HttpRequest request;
  request.url = own.url("/echo");
  request.replay = shareable();
  for (int i = 0; i < 20; ++i) client.perform(request);
  assert_int_equal(own.stats()["connections"].get<int>(), 2);  // the other one asks for this
}

void late_answer_is_a_timeout(void **) {
  HttpClient client = make_client();
  HttpRequest request = get("/hang");
  request.timeout = milliseconds{50};
  const std::string message =
      expect_error(Code::timeout, [&] { static_cast<void>(client.perform(request)); });
  assert_true(contains(message, "GET " + server().url("/hang")));
}

void broken_answers_are_errors(void **) {
  HttpClient client = make_client();
  for (const char *path : {"/cut", "/cut-chunk", "/garbage", "/silent"}) {
    const std::string message =
        expect_error(Code::unavailable, [&] { static_cast<void>(client.perform(get(path))); });
    assert_true(contains(message, "GET " + server().url(path)));
  }
  assert_int_equal(client.perform(get("/echo")).status, 200);
}

void answer_beyond_the_limit_is_refused(void **) {
  HttpOptions options;
  options.answer_limit = 10'000;
  HttpClient client = make_client(options);
  assert_int_equal(client.perform(get("/huge?bytes=10000")).body.size(), 10'000);
  for (const char *path : {"/huge?bytes=10001", "/gzip?bytes=10000000"}) {
    const std::string message =
        expect_error(Code::http, [&] { static_cast<void>(client.perform(get(path))); });
    assert_true(contains(message, "larger than the 10000 bytes"));
  }
}

void refused_connection_says_what_to_check(void **) {
  std::string url;
  {
    const Server gone;
    url = gone.url("/echo");
  }
  HttpClient client = make_client();
  HttpRequest request;
  request.url = url;
  const std::string message =
      expect_error(Code::unavailable, [&] { static_cast<void>(client.perform(request)); });
  assert_true(contains(message, "GET " + url));
  assert_true(contains(message, "check that the master is running"));
}

void requests_that_must_not_be_sent_are_refused(void **) {
  HttpClient client = make_client();
  const auto refused = [&](const HttpRequest &request) {
    const std::string message =
        expect_error(Code::invalid, [&] { static_cast<void>(client.send(request)); });
    assert_false(contains(message, "secret"));
  };
  for (const char *url :
       {"http://user:secret@host/", "http://secret@host/", "http://user:secret@host:port/",
        "ftp://host/secret", "file:///secret", "host/secret", "", "http://"}) {
    HttpRequest request;
    request.url = url;
    refused(request);
  }
  for (const HttpHeader &header : {HttpHeader{"X", "a\r\nsecret: b"},
                                   HttpHeader{"X:\r\n", "secret"}, HttpHeader{"", "secret"}}) {
    HttpRequest request = get("/echo");
    request.headers = {header};
    refused(request);
  }
  HttpRequest request = get("/echo");
  request.method = "GET /secret HTTP/1.1\r\n";
  refused(request);
}

void tokens_in_a_reason_are_masked(void **) {
  HttpResponse answer;
  answer.status = 401;
  answer.asked = "GET http://h/";
  const Error error = response_error(answer, "bad 'Bearer secret' \xff");
  assert_int_equal(static_cast<int>(error.code), static_cast<int>(Code::access));
  assert_string_equal(error.what(),
                      "asking the master (GET http://h/): status 401: bad 'Bearer "
                      "***' ?; run `det login`, or check the token");
}

void times_in_headers_are_read_and_written(void **) {
  assert_string_equal(write_date(784'111'777).c_str(), "Sun, 06 Nov 1994 08:49:37 GMT");
  assert_int_equal(parse_date("Sun, 06 Nov 1994 08:49:37 GMT").value_or(-1), 784'111'777);
  for (const char *text : {"", "now", "12"}) assert_false(parse_date(text).has_value());
}

}  // namespace

int test_answers() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(times_in_headers_are_read_and_written),
      cmocka_unit_test(request_arrives_as_it_was_given),
      cmocka_unit_test(bodies_are_optional_with_every_method),
      cmocka_unit_test(gzipped_answer_is_unpacked),
      cmocka_unit_test(truncated_gzip_gives_no_more_than_was_there),
      cmocka_unit_test(answers_of_any_status_are_given),
      cmocka_unit_test(redirect_is_not_followed),
      cmocka_unit_test(connection_is_kept_between_requests),
      cmocka_unit_test(late_answer_is_a_timeout),
      cmocka_unit_test(broken_answers_are_errors),
      cmocka_unit_test(answer_beyond_the_limit_is_refused),
      cmocka_unit_test(refused_connection_says_what_to_check),
      cmocka_unit_test(requests_that_must_not_be_sent_are_refused),
      cmocka_unit_test(tokens_in_a_reason_are_masked),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
