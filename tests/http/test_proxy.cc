// Masters behind a proxy, as the usual variables say.
#include <cstdlib>

#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/http/authority.h"
#include "tests/http/server.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;
using namespace det::http;

class Proxy : public PythonServer {
 public:
  Proxy() : PythonServer("proxy") {}

  // What came through: [{"method", "target", "headers"}].
  Json requests() const { return control("GET", "/stats")["requests"]; }
};

constexpr const char *names[] = {"http_proxy",  "HTTP_PROXY", "https_proxy",
                                 "HTTPS_PROXY", "all_proxy",  "ALL_PROXY",
                                 "no_proxy",    "NO_PROXY",   "REQUEST_METHOD"};

// The environment has these of our variables, and no others.
ProxyOptions options_from(std::initializer_list<std::pair<const char *, std::string>> variables) {
  for (const char *name : names) unsetenv(name);
  for (const auto &[name, value] : variables) setenv(name, value.c_str(), 1);
  const ProxyOptions options = ProxyOptions::from_environment();
  for (const char *name : names) unsetenv(name);
  return options;
}

HttpResponse ask(const ProxyOptions &proxy, HttpRequest request, const TlsOptions &tls = {}) {
  HttpOptions options;
  options.proxy = proxy;
  options.tls = tls;
  HttpClient client(options, std::make_shared<Logger>());
  return client.perform(std::move(request));
}

void http_master_is_reached_through_the_proxy(void **) {
  const Server master;
  const Proxy proxy;
  const HttpResponse answer =
      ask(options_from({{"HTTP_PROXY", proxy.url()}}),
          {.method = "POST", .url = master.url("/echo"), .body = "{\"a\":1}"});
  assert_int_equal(answer.status, 200);
  assert_string_equal(parse_json(answer.body, "answer")["body"].get<std::string>().c_str(),
                      "{\"a\":1}");
  const Json requests = proxy.requests();
  assert_int_equal(requests.size(), 1);
  assert_string_equal(requests[0]["target"].get<std::string>().c_str(),
                      master.url("/echo").c_str());
}

// The proxy sees whom we talk to, and no more.
void https_master_is_reached_through_a_tunnel(void **) {
  const TemporaryDirectory directory;
  const Authority authority;
  const Identity identity = authority.issue("DNS:localhost");
  write_file_durably(directory / "certificate", identity.certificate);
  write_file_durably(directory / "key", identity.key);
  const Server master(directory / "certificate", directory / "key");
  const Proxy proxy;
  TlsOptions tls;
  tls.certificates = authority.certificate();
  const HttpResponse answer = ask(
      options_from({{"HTTPS_PROXY", proxy.url()}}),
      {.url = master.url("/echo", "localhost"), .headers = {{"Authorization", "Bearer secret"}}},
      tls);
  assert_int_equal(answer.status, 200);
  assert_true(contains(answer.body, "Bearer secret"));
  const Json requests = proxy.requests();
  assert_int_equal(requests.size(), 1);
  assert_string_equal(requests[0]["method"].get<std::string>().c_str(), "CONNECT");
  assert_false(contains(requests.dump(), "secret"));
}

void proxy_that_refuses_the_tunnel_is_an_error(void **) {
  const Proxy proxy;
  const std::string message = expect_error(Code::unavailable, [&] {
    ask(options_from({{"https_proxy", proxy.url()}}), {.url = "https://forbidden.invalid/echo"});
  });
  assert_true(contains(message, "403"));
}

void hosts_in_no_proxy_are_reached_directly(void **) {
  const Server master;
  const Proxy proxy;
  for (const char *none : {"127.0.0.1", "example.com, 127.0.0.1", "*"}) {
    const ProxyOptions options = options_from({{"http_proxy", proxy.url()}, {"NO_PROXY", none}});
    assert_int_equal(ask(options, {.url = master.url("/echo")}).status, 200);
  }
  assert_int_equal(proxy.requests().size(), 0);
  const ProxyOptions options =
      options_from({{"http_proxy", proxy.url()}, {"no_proxy", "example.com,27.0.0.1"}});
  assert_int_equal(ask(options, {.url = master.url("/echo")}).status, 200);
  assert_int_equal(proxy.requests().size(), 1);
}

void each_scheme_has_a_variable_in_either_case(void **) {
  ProxyOptions options = options_from({{"http_proxy", "a"}, {"HTTP_PROXY", "b"}});
  assert_string_equal(options.http.c_str(), "a");
  assert_string_equal(options.https.c_str(), "");
  options = options_from({{"HTTPS_PROXY", "a"}, {"ALL_PROXY", "b"}, {"NO_PROXY", "c"}});
  assert_string_equal(options.http.c_str(), "b");
  assert_string_equal(options.https.c_str(), "a");
  assert_string_equal(options.none.c_str(), "c");
}

void what_a_browser_sends_a_cgi_program_is_no_proxy(void **) {
  assert_string_equal(options_from({{"HTTP_PROXY", "a"}, {"REQUEST_METHOD", "GET"}}).http.c_str(),
                      "");
}

}  // namespace

int test_proxy() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(http_master_is_reached_through_the_proxy),
      cmocka_unit_test(https_master_is_reached_through_a_tunnel),
      cmocka_unit_test(proxy_that_refuses_the_tunnel_is_an_error),
      cmocka_unit_test(hosts_in_no_proxy_are_reached_directly),
      cmocka_unit_test(each_scheme_has_a_variable_in_either_case),
      cmocka_unit_test(what_a_browser_sends_a_cgi_program_is_no_proxy),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
