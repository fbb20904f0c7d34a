// The thread that carries a client's requests through libcurl's multi interface.
#pragma once

#include <curl/curl.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/base/fork_guard.h"
#include "core/http/http_client.h"
#include "core/http/multi.h"
#include "core/http/outcome.h"
#include "core/http/transfer.h"

namespace det::http {

// A request from send() to its answer. All but the outcome belongs to the thread.
struct HttpExchange {
  HttpExchange(HttpRequest asked, const RetryPolicy &policy)
      : request(std::move(asked)), retries(policy, request.replay) {}

  const HttpRequest request;
  Outcome outcome;
  Retries retries;
  std::unique_ptr<Transfer> transfer;           // during an attempt
  std::chrono::steady_clock::time_point due{};  // of the next attempt, between two
};

class HttpEngine {
 public:
  using Exchange = std::shared_ptr<HttpExchange>;

  HttpEngine(HttpOptions options, std::shared_ptr<Logger> logger);
  ~HttpEngine();
  HttpEngine(const HttpEngine &) = delete;
  HttpEngine &operator=(const HttpEngine &) = delete;

  bool in_child() const noexcept { return fork_guard_.in_child(); }
  void check_process() const;  // throws Code::state in a forked child
  const RetryPolicy &retry_policy() const { return options_.retry; }

  void submit(Exchange exchange);  // waits for room; throws Code::state when stopped
  void cancel(const Exchange &exchange);
  void cancel_all();
  void stop();

 private:
  // What other threads want of this one.
  struct Orders {
    std::vector<Exchange> begin, cancel;
    std::vector<Exchange> drop;  // sent, but cancelled with all others before they began
    bool cancel_all = false;
    bool stop = false;
  };

  template <class Change>
  void order(Change change);
  void run();
  // The thread outlives every failure: what throws is a step of one request.
  void obey(Orders orders) noexcept;
  std::chrono::milliseconds begin_due() noexcept;
  void begin(const Exchange &exchange);
  void attempt_ended(const Exchange &exchange, CURLcode code);
  void release_transfer(HttpExchange &exchange) noexcept;
  void finish(const Exchange &exchange, HttpAnswer answer) noexcept;
  template <class Reason>
  void fail(const Exchange &exchange, Reason reason) noexcept;
  template <class Step>
  void or_fail(const Exchange &exchange, Step step) noexcept;
  void cancel(const Exchange &exchange, const char *why) noexcept;
  void cancel_open(const char *why) noexcept;
  void forget(const Exchange &exchange) noexcept;

  const HttpOptions options_;
  const std::shared_ptr<Logger> logger_;
  ForkGuard fork_guard_;
  Tls tls_;
  Multi multi_;

  std::mutex mutex_;
  std::condition_variable room_;
  Orders orders_;
  size_t open_count_ = 0;

  // Of the thread alone.
  std::unordered_map<HttpExchange *, Exchange> open_;
  std::unordered_map<CURL *, Exchange> under_way_;
  std::vector<std::unique_ptr<Transfer>> spare_;
  std::minstd_rand random_;

  std::mutex stopping_;  // so that each caller of stop() returns after the end
  std::thread thread_;
};

}  // namespace det::http
