// A master behind a server that speaks HTTP/2.
#include <netinet/in.h>
#include <sys/socket.h>

#include <vector>

#include "core/http/http_client.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/http/authority.h"
#include "tests/http/shareable.h"
#include "tests/patience.h"
#include "tests/python_server.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;
using namespace det::http;

class Http2Master {
 public:
  Http2Master() {
    const Identity identity = authority_.issue("DNS:localhost");
    write_file_durably(directory_ / "certificate", identity.certificate);
    write_file_durably(directory_ / "key", identity.key);
    write_file_durably(directory_ / "large", std::string(size_t{64} << 20U, 'x'));
    process_.emplace("http2", std::vector<std::string>{std::getenv("DET_TEST_NGHTTPD"),
                                                       directory_ / "certificate",
                                                       directory_ / "key", directory_.path()});
  }

  std::string url(const std::string &path) const {
    return "https://localhost:" + std::to_string(process_->port()) + path;
  }
  HttpOptions options() const {
    HttpOptions options;
    options.tls.certificates = authority_.certificate();
    return options;
  }

  // How many connections this process has to it.
  int connections() const {
    int count = 0;
    for (int fd = 0; fd < 1024; ++fd) {
      sockaddr_in peer{};
      socklen_t size = sizeof peer;
      if (getpeername(fd, reinterpret_cast<sockaddr *>(&peer), &size) == 0 &&
          peer.sin_family == AF_INET && ntohs(peer.sin_port) == process_->port())
        ++count;
    }
    return count;
  }

 private:
  const TemporaryDirectory directory_;
  const Authority authority_;
  std::optional<PythonServer> process_;
};

void requests_share_one_connection(void **) {
  const Http2Master master;
  HttpClient client(master.options(), std::make_shared<Logger>());
  std::vector<HttpCall> calls;
  for (int i = 0; i < 50; ++i)
    calls.push_back(client.send({.method = "POST",
                                 .url = master.url("/echo"),
                                 .body = std::string(1000, char('a' + i % 26)),
                                 .replay = shareable()}));
  for (int i = 0; i < 50; ++i) {
    const HttpResponse answer = calls[static_cast<size_t>(i)].wait();
    assert_int_equal(answer.status, 200);
    assert_string_equal(answer.body.c_str(), std::string(1000, char('a' + i % 26)).c_str());
  }
  assert_int_equal(master.connections(), 1);
}

void a_request_follows_another_beside_an_open_stream(void **) {
  const Http2Master master;
  HttpClient client(master.options(), std::make_shared<Logger>());
  assert_int_equal(client.perform({.url = master.url("/absent"), .replay = shareable()}).status,
                   404);
  HttpCall large = client.send({.url = master.url("/large"), .replay = shareable()});
  for (int i = 0; i < 10; ++i)
    assert_int_equal(client.perform({.url = master.url("/absent"), .replay = shareable()}).status,
                     404);
  assert_int_equal(large.wait().status, 200);
}

void cancel_ends_one_stream_alone(void **) {
  const Http2Master master;
  HttpClient client(master.options(), std::make_shared<Logger>());
  assert_int_equal(client.perform({.url = master.url("/absent"), .replay = shareable()}).status,
                   404);
  const HttpCall large = client.send({.url = master.url("/large"), .replay = shareable()});
  HttpCall cancelled = client.send({.url = master.url("/large"), .replay = shareable()});
  HttpCall other = client.send(
      {.method = "POST", .url = master.url("/echo"), .body = "text", .replay = shareable()});
  cancelled.cancel();
  expect_error(Code::state, [&] { static_cast<void>(cancelled.wait()); });
  assert_string_equal(other.wait().body.c_str(), "text");
  assert_true(large.wait_for(std::chrono::seconds{TEST_PATIENCE_SECONDS}));
  assert_int_equal(master.connections(), 1);
}

void large_answer_arrives_whole(void **) {
  const Http2Master master;
  HttpClient client(master.options(), std::make_shared<Logger>());
  assert_equal(client.perform({.url = master.url("/large")}).body,
               std::string(size_t{64} << 20U, 'x'));
}

}  // namespace

int test_http2() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(requests_share_one_connection),
      cmocka_unit_test(a_request_follows_another_beside_an_open_stream),
      cmocka_unit_test(cancel_ends_one_stream_alone),
      cmocka_unit_test(large_answer_arrives_whole),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
