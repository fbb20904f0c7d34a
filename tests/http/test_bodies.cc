// Bodies that are read while they are sent, and taken while they come.
#include <algorithm>
#include <cstring>

#include "core/base/json.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/http/server.h"
#include "tests/http/shareable.h"

namespace {

using namespace det;
using namespace det::http;

HttpClient plain_client() { return HttpClient(HttpOptions{}, std::make_shared<Logger>()); }

struct TextSource : BodySource {
  explicit TextSource(std::string given) : text(std::move(given)) {}
  uint64_t size() const override { return text.size(); }
  size_t read(uint64_t offset, char *bytes, size_t room) override {
    const size_t count = std::min<size_t>({room, most, text.size() - offset});
    std::memcpy(bytes, text.data() + offset, count);
    return count;
  }
  std::string text;
  size_t most = 7;  // pieces that fit no buffer
};

struct Failing : TextSource {
  using TextSource::TextSource;
  size_t read(uint64_t, char *, size_t) override { throw Error(Code::conflict, "it has changed"); }
};

struct Taken : BodySink {
  void begin() override { text.clear(), ++bodies; }
  void write(const char *bytes, size_t count) override { text.append(bytes, count); }
  std::string text;
  int bodies = 0;
};

struct Full : BodySink {
  void begin() override {}
  void write(const char *, size_t) override { throw Error(Code::full, "the disk is full"); }
};

void body_is_sent_from_its_source(void **) {
  HttpClient client = plain_client();
  for (const size_t size : {size_t{0}, size_t{1}, size_t{100'000}})
    for (const char *method : {"PUT", "POST"}) {
      HttpRequest request = get("/echo");
      request.method = method;
      request.source = std::make_shared<TextSource>(std::string(size, 'b'));
      const Json told = parse_json(client.perform(request).body, "answer");
      assert_string_equal(told["method"].get<std::string>().c_str(), method);
      assert_equal(told["body"].get<std::string>(), std::string(size, 'b'));
      // The handle is used again: nothing of the last request is left.
      assert_equal(parse_json(client.perform(get("/echo")).body, "answer")["method"], Json("GET"));
    }
}

void what_a_source_throws_ends_the_request(void **) {
  HttpClient client = plain_client();
  HttpRequest request = get("/echo");
  request.method = "PUT";
  request.source = std::make_shared<Failing>("body");
  const std::string message = expect_error(Code::conflict, [&] { client.perform(request); });
  assert_string_equal(message.c_str(), "it has changed");
}

void body_of_success_goes_into_the_sink(void **) {
  HttpClient client = plain_client();
  const auto sink = std::make_shared<Taken>();
  HttpRequest request = get("/gzip?bytes=100000");
  request.sink = sink;
  const HttpResponse answer = client.perform(request);
  assert_equal(answer.body, std::string());
  assert_equal(sink->text, std::string(100'000, 'x'));
  assert_int_equal(sink->bodies, 1);
}

void body_of_a_refusal_does_not(void **) {
  HttpClient client = plain_client();
  const auto sink = std::make_shared<Taken>();
  HttpRequest request = get("/status/404");
  request.sink = sink;
  const HttpResponse answer = client.perform(request);
  assert_int_equal(answer.status, 404);
  assert_false(answer.body.empty());
  assert_int_equal(sink->bodies, 0);
}

void what_a_sink_throws_ends_the_request(void **) {
  HttpClient client = plain_client();
  HttpRequest request = get("/gzip?bytes=1000");
  request.sink = std::make_shared<Full>();
  expect_error(Code::full, [&] { client.perform(request); });
}

void headers_are_kept_where_asked_for(void **) {
  HttpClient client = plain_client();
  HttpRequest request = get("/echo");
  assert_true(client.perform(request).headers.empty());
  request.keep_headers = true;
  const HttpResponse answer = client.perform(request);
  assert_equal(answer.header("content-type"), std::string("application/json"));
  assert_equal(answer.header("x-none"), std::string());
  request.method = "HEAD";
  assert_false(client.perform(request).header("content-length").empty());
}

void answer_cut_in_its_headers_is_none(void **) {
  HttpClient client = plain_client();
  HttpRequest request = get("/cut-head");
  request.keep_headers = true;
  expect_error(Code::unavailable, [&] { client.perform(request); });
}

void messages_name_the_peer(void **) {
  HttpOptions options;
  options.peer.name = "the object store";
  options.retry.total = 0;
  HttpClient client(std::move(options), std::make_shared<Logger>());
  const std::string message =
      expect_error(Code::unavailable, [&] { client.perform({.url = "http://127.0.0.1:1/"}); });
  assert_true(contains(message, "asking the object store (GET http://127.0.0.1:1/)"));
}

}  // namespace

int test_bodies() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(body_is_sent_from_its_source),
      cmocka_unit_test(what_a_source_throws_ends_the_request),
      cmocka_unit_test(body_of_success_goes_into_the_sink),
      cmocka_unit_test(body_of_a_refusal_does_not),
      cmocka_unit_test(what_a_sink_throws_ends_the_request),
      cmocka_unit_test(headers_are_kept_where_asked_for),
      cmocka_unit_test(answer_cut_in_its_headers_is_none),
      cmocka_unit_test(messages_name_the_peer),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
