#include "core/http/engine.h"

#include <algorithm>
#include <new>

#include "core/base/error.h"
#include "core/base/thread.h"
#include "core/http/failure.h"

namespace det {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds idle{60'000};
constexpr size_t spare_transfers = 16;
constexpr long spare_connections = 16;

CURLM *make_multi() {
  // Thread-safe since libcurl 7.84, and for the whole process.
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (ready != CURLE_OK)
    throw Error(Code::internal, std::string("starting libcurl: ") + curl_easy_strerror(ready));
  CURLM *multi = curl_multi_init();
  if (multi == nullptr) throw std::bad_alloc();
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, spare_connections);
  return multi;
}

Error cancelled(const HttpRequest &request, const char *why) {
  return {Code::state, "asking the master (" + asked_of(request) + "): " + why};
}

}  // namespace

HttpEngine::HttpEngine(HttpOptions options, std::shared_ptr<Logger> logger)
    : options_(std::move(options)),
      logger_(std::move(logger)),
      tls_(options_.tls),
      multi_(make_multi()),
      random_(std::random_device{}()),
      thread_(start_thread("det-http", [this] { run(); })) {}

HttpEngine::~HttpEngine() { stop(); }

void HttpEngine::check_process() const {
  if (in_child())
    throw Error(Code::state,
                "asking the master in a forked child: the connection is the parent's; open a core "
                "of its own");
}

template <class Change>
void HttpEngine::order(Change change) {
  if (in_child()) return;
  const std::lock_guard lock(mutex_);
  if (!multi_) return;  // stopped already
  change();
  curl_multi_wakeup(multi_.get());
}

void HttpEngine::submit(Exchange exchange) {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return open_count_ < options_.open_limit || orders_.stop; });
  if (orders_.stop)
    throw Error(Code::state, "asking the master (" + asked_of(exchange->request) +
                                 "): the connection is closed already");
  const bool awake = !orders_.begin.empty();
  orders_.begin.push_back(std::move(exchange));
  ++open_count_;
  if (!awake) curl_multi_wakeup(multi_.get());
}

void HttpEngine::cancel(const Exchange &exchange) {
  order([&] { orders_.cancel.push_back(exchange); });
}

void HttpEngine::cancel_all() {
  order([this] { orders_.cancel_all = true; });
}

void HttpEngine::stop() {
  if (in_child()) return;
  order([this] { orders_.stop = true; });
  room_.notify_all();
  const std::lock_guard lock(stopping_);
  if (thread_.joinable()) thread_.join();
}

void HttpEngine::run() {
  for (bool stop = false; !stop;) {
    Orders orders;
    {
      const std::lock_guard lock(mutex_);
      stop = orders_.stop;
      std::swap(orders, orders_);
      orders_.stop = stop;
    }
    obey(std::move(orders));
    if (stop) break;
    int running = 0;
    curl_multi_perform(multi_.get(), &running);
    collect();
    const milliseconds patience = begin_due();
    curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(patience.count()), nullptr);
  }
  cancel_open("the connection is being closed");
  spare_.clear();
  const std::lock_guard lock(mutex_);
  multi_.reset();
}

void HttpEngine::obey(Orders orders) {
  for (Exchange &exchange : orders.begin) {
    open_.emplace(exchange.get(), exchange);
    if (!orders.stop && !orders.cancel_all) begin(exchange);
  }
  if (orders.cancel_all) cancel_open("cancelled");
  for (const Exchange &exchange : orders.cancel)
    if (open_.count(exchange.get()) > 0) fail(exchange, cancelled(exchange->request, "cancelled"));
}

// Begins the attempts whose time has come; gives how long until the next one.
milliseconds HttpEngine::begin_due() {
  if (open_.size() == under_way_.size()) return idle;
  const auto now = steady_clock::now();
  auto next = now + idle;
  std::vector<Exchange> due;
  for (const auto &[key, exchange] : open_) {
    if (exchange->transfer) continue;
    if (exchange->due <= now) due.push_back(exchange);
    else next = std::min(next, exchange->due);
  }
  for (const Exchange &exchange : due) begin(exchange);
  return std::chrono::ceil<milliseconds>(next - now);
}

// What goes wrong in a step of one request ends that one alone.
template <class Step>
void HttpEngine::or_fail(const Exchange &exchange, Step step) {
  try {
    step();
  } catch (Error &error) {
    fail(exchange, std::move(error));
  } catch (const std::bad_alloc &) {
    fail(exchange, Error(Code::no_memory, "asking the master: no memory"));
  } catch (const std::exception &error) {
    fail(exchange, Error(Code::internal, std::string("asking the master: ") + error.what()));
  }
}

void HttpEngine::begin(const Exchange &exchange) {
  or_fail(exchange, [&] {
    std::unique_ptr<Transfer> transfer;
    if (spare_.empty()) {
      transfer = std::make_unique<Transfer>(tls_, options_.answer_limit);
    } else {
      transfer = std::move(spare_.back());
      spare_.pop_back();
    }
    transfer->prepare(exchange->request, options_.proxy);
    under_way_.emplace(transfer->handle(), exchange);
    exchange->transfer = std::move(transfer);
    if (const CURLMcode code = curl_multi_add_handle(multi_.get(), exchange->transfer->handle());
        code != CURLM_OK)
      throw Error(Code::internal, std::string("starting a request: ") + curl_multi_strerror(code));
  });
}

void HttpEngine::collect() {
  int left = 0;
  while (const CURLMsg *message = curl_multi_info_read(multi_.get(), &left)) {
    const CURLcode code = message->data.result;
    const Exchange exchange = under_way_.at(message->easy_handle);
    or_fail(exchange, [&] { attempt_ended(exchange, code); });
  }
}

void HttpEngine::attempt_ended(const Exchange &exchange, CURLcode code) {
  Transfer &transfer = *exchange->transfer;
  const Attempt attempt = transfer.outcome(code);
  const double random = std::uniform_real_distribution<>(0, 1)(random_);
  const auto wait = exchange->retries.after(attempt, random);
  if (!wait && code == CURLE_OK) return finish(exchange, transfer.take_answer(exchange->request));
  Error error = code == CURLE_OK ? answer_error(transfer.take_answer(exchange->request), "")
                                 : transfer.failure(code, exchange->request);
  if (!wait) return fail(exchange, std::move(error));
  logger_->info(std::string(error.what()) + "; trying again in " + std::to_string(wait->count()) +
                " ms");
  release_transfer(*exchange);
  exchange->due = steady_clock::now() + (options_.retry_wait ? options_.retry_wait(*wait) : *wait);
}

void HttpEngine::release_transfer(HttpExchange &exchange) {
  if (!exchange.transfer) return;
  curl_multi_remove_handle(multi_.get(), exchange.transfer->handle());
  under_way_.erase(exchange.transfer->handle());
  if (spare_.size() < spare_transfers) spare_.push_back(std::move(exchange.transfer));
  exchange.transfer.reset();
}

void HttpEngine::finish(const Exchange &exchange, HttpAnswer answer) {
  forget(exchange);
  exchange->outcome.set(std::move(answer));
}

void HttpEngine::fail(const Exchange &exchange, Error reason) {
  forget(exchange);
  exchange->outcome.set(std::move(reason));
}

void HttpEngine::cancel_open(const char *why) {
  while (!open_.empty()) {
    const Exchange exchange = open_.begin()->second;
    fail(exchange, cancelled(exchange->request, why));
  }
}

void HttpEngine::forget(const Exchange &exchange) {
  release_transfer(*exchange);
  open_.erase(exchange.get());
  const std::lock_guard lock(mutex_);
  --open_count_;
  room_.notify_one();
}

}  // namespace det
