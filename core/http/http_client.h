// Requests over HTTP(S), many at a time, from any thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/base/log/log.h"
#include "core/base/wake.h"
#include "core/http/message.h"
#include "core/http/retry.h"
#include "core/http/tls.h"

namespace det::http {

// Which proxy stands before which master; empty: none.
struct ProxyOptions {
  std::string http;   // for http:// masters
  std::string https;  // for https:// masters
  std::string none;   // hosts reached directly, separated by commas; "*": all

  // The usual variables, in upper or lower case: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY.
  static ProxyOptions from_environment();
};

struct HttpOptions {
  Peer peer{};
  bool http2 = true;  // over TLS: the requests share a connection where the other side can
  TlsOptions tls;
  ProxyOptions proxy;
  RetryPolicy retry;
  size_t answer_limit = size_t{256} << 20U;  // bytes of a decompressed body
  size_t open_limit = 64;                    // requests under way; more wait in send()
  // What a wait before a retry becomes; tests make it short.
  std::function<std::chrono::milliseconds(std::chrono::milliseconds)> retry_wait;
};

class HttpEngine;
struct HttpExchange;

// A request under way. Letting go of it does not stop the request.
class HttpCall {
 public:
  // Blocks; once. Gives answers of any status; throws Code::timeout, Code::access when the master
  // cannot prove who it is, Code::state after a cancel, Code::unavailable, Code::io.
  HttpResponse wait();

  // As wait(), until `wake` is set: then it cancels the request and gives nothing. Any answer that
  // has come before is given.
  std::optional<HttpResponse> wait_unless(const Wake &wake);

  // Whether wait() returns at once, after at most `patience`.
  bool wait_for(std::chrono::milliseconds patience) const;

  // Ends it at once, from any thread, also between attempts. Nothing when it has ended.
  void cancel() const;

 private:
  friend class HttpClient;
  HttpCall(std::shared_ptr<HttpEngine> engine, std::shared_ptr<HttpExchange> exchange);

  std::shared_ptr<HttpEngine> engine_;
  std::shared_ptr<HttpExchange> exchange_;
};

// Owns one thread and the connections, which are kept alive between requests.
class HttpClient {
 public:
  HttpClient(HttpOptions options, std::shared_ptr<Logger> logger);

  // As close(). In a forked child it leaves everything to the parent.
  ~HttpClient();
  HttpClient(const HttpClient &) = delete;
  HttpClient &operator=(const HttpClient &) = delete;

  // Throws Code::invalid for a request that must not be sent, Code::state after close() and in a
  // forked child. Waits while too many requests are open.
  HttpCall send(HttpRequest request);
  HttpResponse perform(HttpRequest request) { return send(std::move(request)).wait(); }

  void cancel_all();  // those sent so far

  // Cancels what is open, closes the connections and ends the thread. Again: nothing.
  void close();

 private:
  std::shared_ptr<HttpEngine> engine_;
};

}  // namespace det::http
