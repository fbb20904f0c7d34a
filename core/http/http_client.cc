#include "core/http/http_client.h"

#include <algorithm>
#include <condition_variable>
#include <initializer_list>
#include <iterator>
#include <mutex>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "core/base/process/environment.h"
#include "core/base/process/fork_guard.h"
#include "core/base/thread.h"
#include "core/http/failure.h"
#include "core/http/http_library.h"
#include "core/http/transfer.h"

namespace det::http {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds idle{60'000};

// While requests are under way. A host that closes our descriptors keeps libcurl from being woken.
constexpr milliseconds look_interval{1000}, refused_pause{50};

CURLM *make_multi(size_t spare_connections) {
  // Thread-safe since libcurl 7.84, and for the whole process.
  static const CURLcode ready = [] {
    const CURLcode code = curl().global_init(CURL_GLOBAL_DEFAULT);
    if (code == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();  // tried again the next time
    return code;
  }();
  if (ready != CURLE_OK)
    throw Error(Code::internal, std::string("starting libcurl: ") + curl().easy_strerror(ready));
  CURLM *multi = curl().multi_init();
  if (multi == nullptr) throw std::bad_alloc();
  curl().multi_setopt(multi, CURLMOPT_MAXCONNECTS, static_cast<long>(spare_connections));
  return multi;
}

std::string first_of(std::initializer_list<const char *> names) {
  for (const char *name : names)
    if (std::string value = environment_variable(name); !value.empty()) return value;
  return "";
}

}  // namespace

ProxyOptions ProxyOptions::from_environment() {
  const std::string all = first_of({"all_proxy", "ALL_PROXY"});
  // In a CGI program HTTP_PROXY is whatever the browser sent as "Proxy:".
  const bool in_cgi = !environment_variable("REQUEST_METHOD").empty();
  ProxyOptions options;
  options.http = in_cgi ? first_of({"http_proxy"}) : first_of({"http_proxy", "HTTP_PROXY"});
  options.https = first_of({"https_proxy", "HTTPS_PROXY"});
  options.none = first_of({"no_proxy", "NO_PROXY"});
  if (options.http.empty()) options.http = all;
  if (options.https.empty()) options.https = all;
  return options;
}

// How a request ends, handed from the thread that carries it to the one that waits for it. Endings
// are moved through, so that no two threads own parts of an error or an answer.
class Outcome {
 public:
  void set(HttpResponse answer) { end(std::move(answer)); }
  void set(Error reason) { end(std::move(reason)); }
  void set_no_memory() noexcept { end(NoMemory{}); }  // where there is none for an error either

  HttpResponse take();  // waits; throws the error, or std::bad_alloc; once
  bool wait_for(milliseconds patience) const;
  bool wait_unless(const Wake &wake);  // false: `wake` was set first

 private:
  struct NoMemory {};
  using Ending = std::variant<std::monostate, HttpResponse, Error, NoMemory>;

  void end(Ending ending) noexcept;
  bool has_ended() const { return ending_.index() != 0; }

  mutable std::mutex mutex_;
  mutable std::condition_variable ended_;
  Ending ending_;
  std::optional<Wake> wake_;  // of who waits in poll(2)
};

void Outcome::end(Ending ending) noexcept {
  {
    const std::lock_guard lock(mutex_);
    ending_ = std::move(ending);
    if (wake_) wake_->set();
  }
  ended_.notify_all();
}

HttpResponse Outcome::take() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return has_ended(); });
  if (std::holds_alternative<NoMemory>(ending_)) throw std::bad_alloc();
  if (Error *reason = std::get_if<Error>(&ending_)) throw Error(std::move(*reason));
  return std::get<HttpResponse>(std::move(ending_));
}

bool Outcome::wait_for(milliseconds patience) const {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, patience, [this] { return has_ended(); });
}

bool Outcome::wait_unless(const Wake &wake) {
  {
    const std::lock_guard lock(mutex_);
    if (has_ended()) return true;
    if (!wake_) wake_.emplace();
  }
  for (;;) {
    const bool is_told = wake.poll({}, std::chrono::seconds(1), &*wake_);
    if (const std::lock_guard lock(mutex_); has_ended()) return true;
    if (is_told) return false;
  }
}

// A request from send() to its answer. All but the outcome belongs to the thread.
struct HttpExchange {
  HttpExchange(HttpRequest asked, const RetryPolicy &policy)
      : request(std::move(asked)), retries(policy, request.replay) {}

  const HttpRequest request;
  Outcome outcome;
  Retries retries;
  std::unique_ptr<Transfer> transfer;  // during an attempt
  steady_clock::time_point due{};      // of the next attempt, between two
};

// The thread that carries a client's requests through libcurl's multi interface.
class HttpEngine {
 public:
  using Exchange = std::shared_ptr<HttpExchange>;

  HttpEngine(HttpOptions options, std::shared_ptr<Logger> logger);
  ~HttpEngine() { stop(); }
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
  struct MultiFree {
    void operator()(CURLM *multi) const { curl().multi_cleanup(multi); }
  };

  // What other threads want of this one.
  struct Orders {
    std::vector<Exchange> begin, cancel;
    std::vector<Exchange> drop;  // sent, but cancelled with all others before they began
    bool cancel_all = false;
    bool stop = false;

    bool any() const {
      return cancel_all || stop || !(begin.empty() && cancel.empty() && drop.empty());
    }
  };

  template <class Change>
  void order(Change change);
  void wake() noexcept;
  void run();
  // The thread outlives every failure: what throws is a step of one request.
  void obey(Orders orders) noexcept;
  void carry_on() noexcept;
  milliseconds begin_due() noexcept;
  void wait(milliseconds patience) noexcept;
  void begin(const Exchange &exchange);
  void attempt_ended(const Exchange &exchange, CURLcode code);
  void release_transfer(HttpExchange &exchange) noexcept;
  void finish(const Exchange &exchange, HttpResponse answer) noexcept;
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
  std::unique_ptr<CURLM, MultiFree> multi_;

  std::mutex mutex_;
  std::condition_variable room_, ordered_;
  Orders orders_;
  bool is_resting_ = false;  // nothing is under way: the thread waits for orders alone
  size_t open_count_ = 0;

  // Of the thread alone.
  std::unordered_map<HttpExchange *, Exchange> open_;
  std::unordered_map<CURL *, Exchange> under_way_;
  std::vector<std::unique_ptr<Transfer>> spare_;
  std::minstd_rand random_;

  std::mutex stopping_;  // so that each caller of stop() returns after the end
  std::thread thread_;
};

HttpEngine::HttpEngine(HttpOptions options, std::shared_ptr<Logger> logger)
    : options_(std::move(options)),
      logger_(std::move(logger)),
      tls_(options_.tls),
      multi_(make_multi(options_.open_limit)),
      random_(std::random_device{}()),
      thread_(start_thread("det-http", [this] { run(); })) {}

void HttpEngine::check_process() const {
  if (in_child())
    throw Error(Code::state, "asking " + options_.peer.name +
                                 " in a forked child: the connection is the parent's; open a core "
                                 "in the child");
}

template <class Change>
void HttpEngine::order(Change change) {
  if (in_child()) return;
  const std::lock_guard lock(mutex_);
  if (orders_.stop) return;
  change();
  wake();
}

// Under the lock, and before the thread has seen that it is to stop.
void HttpEngine::wake() noexcept {
  if (is_resting_) ordered_.notify_one();
  else curl().multi_wakeup(multi_.get());
}

void HttpEngine::submit(Exchange exchange) {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return open_count_ < options_.open_limit || orders_.stop; });
  if (orders_.stop)
    throw Error(Code::state, "asking " + options_.peer.name + " (" + asked_of(exchange->request) +
                                 "): the connection is closed already");
  const bool awake = !orders_.begin.empty();
  orders_.begin.push_back(std::move(exchange));
  ++open_count_;
  if (!awake) wake();
}

void HttpEngine::cancel(const Exchange &exchange) {
  order([&] { orders_.cancel.push_back(exchange); });
}

void HttpEngine::cancel_all() {
  order([this] {
    // All are moved or none.
    orders_.drop.insert(orders_.drop.end(), std::make_move_iterator(orders_.begin.begin()),
                        std::make_move_iterator(orders_.begin.end()));
    orders_.begin.clear();
    orders_.cancel_all = true;
  });
}

void HttpEngine::stop() {
  if (in_child()) return;
  order([this] { orders_.stop = true; });
  room_.notify_all();
  const std::lock_guard lock(stopping_);
  if (thread_.joinable()) thread_.join();
}

void HttpEngine::run() {
  for (;;) {
    Orders orders;
    {
      const std::lock_guard lock(mutex_);
      std::swap(orders, orders_);
      orders_.stop = orders.stop;
    }
    const bool stop = orders.stop;
    obey(std::move(orders));
    if (stop) break;
    carry_on();
    wait(begin_due());
  }
  cancel_open("the connection is being closed");
  spare_.clear();
  multi_.reset();
}

void HttpEngine::obey(Orders orders) noexcept {
  if (orders.cancel_all) cancel_open("cancelled");
  for (const Exchange &exchange : orders.drop) cancel(exchange, "cancelled");
  for (const Exchange &exchange : orders.begin)
    or_fail(exchange, [&] {
      open_.emplace(exchange.get(), exchange);
      if (!orders.stop) begin(exchange);
    });
  for (const Exchange &exchange : orders.cancel)
    if (open_.count(exchange.get()) > 0) cancel(exchange, "cancelled");
}

void HttpEngine::carry_on() noexcept {
  if (under_way_.empty()) return;
  int running = 0, left = 0;
  curl().multi_perform(multi_.get(), &running);
  while (const CURLMsg *message = curl().multi_info_read(multi_.get(), &left)) {
    const CURLcode code = message->data.result;
    const Exchange exchange = under_way_.at(message->easy_handle);
    or_fail(exchange, [&] { attempt_ended(exchange, code); });
  }
}

// Begins the attempts whose time has come; gives how long until there is something to do.
milliseconds HttpEngine::begin_due() noexcept {
  if (open_.size() == under_way_.size()) return idle;
  const auto now = steady_clock::now();
  auto next = now + idle;
  for (auto entry = open_.begin(); entry != open_.end();) {
    const Exchange exchange = entry->second;
    ++entry;  // where it fails, it is no longer among them
    if (exchange->transfer) continue;
    if (exchange->due > now) next = std::min(next, exchange->due);
    else or_fail(exchange, [&] { begin(exchange); });
  }
  return std::chrono::ceil<milliseconds>(next - now);
}

// Until there are orders, or something happens to what is under way. Without any such, no
// descriptor is needed.
void HttpEngine::wait(milliseconds patience) noexcept {
  if (under_way_.empty()) {
    std::unique_lock lock(mutex_);
    is_resting_ = true;
    ordered_.wait_for(lock, patience, [this] { return orders_.any(); });
    is_resting_ = false;
    return;
  }
  patience = std::min(patience, look_interval);
  if (curl().multi_poll(multi_.get(), nullptr, 0, static_cast<int>(patience.count()), nullptr) !=
      CURLM_OK)
    std::this_thread::sleep_for(std::min(patience, refused_pause));
}

// What goes wrong in a step of one request ends that one alone.
template <class Step>
void HttpEngine::or_fail(const Exchange &exchange, Step step) noexcept {
  try {
    step();
  } catch (const Error &error) {
    fail(exchange, [&] { return error; });
  } catch (const std::bad_alloc &) {
    fail(exchange, []() -> Error { throw std::bad_alloc(); });
  } catch (const std::exception &error) {
    fail(exchange, [&] {
      return Error(Code::internal, "asking " + options_.peer.name + ": " + error.what());
    });
  }
}

void HttpEngine::begin(const Exchange &exchange) {
  std::unique_ptr<Transfer> transfer;
  if (spare_.empty()) {
    transfer = std::make_unique<Transfer>(tls_, options_);
  } else {
    transfer = std::move(spare_.back());
    spare_.pop_back();
  }
  transfer->prepare(exchange->request);
  CURL *handle = transfer->handle();
  under_way_.emplace(handle, exchange);
  exchange->transfer = std::move(transfer);
  const CURLMcode code = curl().multi_add_handle(multi_.get(), handle);
  if (code == CURLM_OUT_OF_MEMORY) throw std::bad_alloc();
  if (code != CURLM_OK)
    throw Error(Code::internal, std::string("starting a request: ") + curl().multi_strerror(code));
}

void HttpEngine::attempt_ended(const Exchange &exchange, CURLcode code) {
  Transfer &transfer = *exchange->transfer;
  code = transfer.settled(code);
  const Attempt attempt = transfer.outcome(code);
  const double random = std::uniform_real_distribution<>(0, 1)(random_);
  const auto wait = exchange->retries.after(attempt, random);
  if (!wait && code == CURLE_OK) return finish(exchange, transfer.take_response(exchange->request));
  Error error = code == CURLE_OK ? response_error(transfer.take_response(exchange->request), "")
                                 : transfer.failure(code, exchange->request);
  if (!wait) return fail(exchange, [&] { return std::move(error); });
  logger_->info(std::string(error.what()) + "; trying again in " + std::to_string(wait->count()) +
                " ms");
  release_transfer(*exchange);
  exchange->due = steady_clock::now() + (options_.retry_wait ? options_.retry_wait(*wait) : *wait);
}

// No connection stays behind where it is still under way.
void HttpEngine::release_transfer(HttpExchange &exchange) noexcept {
  if (!exchange.transfer) return;
  curl().multi_remove_handle(multi_.get(), exchange.transfer->handle());
  under_way_.erase(exchange.transfer->handle());
  try {
    if (spare_.size() < options_.open_limit) spare_.push_back(std::move(exchange.transfer));
  } catch (const std::bad_alloc &) {
    // The next request makes one of its own.
  }
  exchange.transfer.reset();
}

void HttpEngine::finish(const Exchange &exchange, HttpResponse answer) noexcept {
  forget(exchange);
  exchange->outcome.set(std::move(answer));
}

// Where there is no memory for the reason, that is the reason.
template <class Reason>
void HttpEngine::fail(const Exchange &exchange, Reason reason) noexcept {
  forget(exchange);
  try {
    exchange->outcome.set(reason());
  } catch (const std::bad_alloc &) {
    exchange->outcome.set_no_memory();
  }
}

void HttpEngine::cancel(const Exchange &exchange, const char *why) noexcept {
  fail(exchange, [&] {
    return Error(Code::state,
                 "asking " + options_.peer.name + " (" + asked_of(exchange->request) + "): " + why);
  });
}

void HttpEngine::cancel_open(const char *why) noexcept {
  while (!open_.empty()) {
    const Exchange exchange = open_.begin()->second;
    cancel(exchange, why);
  }
}

void HttpEngine::forget(const Exchange &exchange) noexcept {
  release_transfer(*exchange);
  open_.erase(exchange.get());
  const std::lock_guard lock(mutex_);
  --open_count_;
  room_.notify_one();
}

HttpCall::HttpCall(std::shared_ptr<HttpEngine> engine, std::shared_ptr<HttpExchange> exchange)
    : engine_(std::move(engine)), exchange_(std::move(exchange)) {}

HttpResponse HttpCall::wait() {
  engine_->check_process();
  return exchange_->outcome.take();
}

std::optional<HttpResponse> HttpCall::wait_unless(const Wake &wake) {
  engine_->check_process();
  if (exchange_->outcome.wait_unless(wake)) return exchange_->outcome.take();
  cancel();
  return std::nullopt;
}

bool HttpCall::wait_for(milliseconds patience) const {
  engine_->check_process();
  return exchange_->outcome.wait_for(patience);
}

void HttpCall::cancel() const { engine_->cancel(exchange_); }

HttpClient::HttpClient(HttpOptions options, std::shared_ptr<Logger> logger)
    : engine_(std::make_shared<HttpEngine>(std::move(options), std::move(logger))) {}

HttpClient::~HttpClient() {
  // The thread exists only in the parent: nothing here can be taken down.
  if (engine_->in_child())
    static_cast<void>(new (std::nothrow) std::shared_ptr<HttpEngine>(engine_));
  else engine_->stop();
}

HttpCall HttpClient::send(HttpRequest request) {
  engine_->check_process();
  check_request(request);
  auto exchange = std::make_shared<HttpExchange>(std::move(request), engine_->retry_policy());
  HttpCall call(engine_, exchange);
  engine_->submit(std::move(exchange));
  return call;
}

void HttpClient::cancel_all() { engine_->cancel_all(); }

void HttpClient::close() { engine_->stop(); }

}  // namespace det::http
