#include "core/http/http_engine.h"

#include <algorithm>
#include <iterator>
#include <new>

#include "core/base/error.h"
#include "core/base/thread.h"
#include "core/http/failure.h"

namespace det::http {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds idle{60'000};

}  // namespace

HttpEngine::HttpEngine(HttpOptions options, std::shared_ptr<Logger> logger)
    : options_(std::move(options)),
      logger_(std::move(logger)),
      tls_(options_.tls),
      multi_(options_.open_limit),
      random_(std::random_device{}()),
      thread_(start_thread("det-http", [this] { run(); })) {}

HttpEngine::~HttpEngine() { stop(); }

void HttpEngine::check_process() const {
  if (in_child())
    throw Error(Code::state, "asking " + options_.peer.name +
                                 " in a forked child: the connection is the parent's; open a core "
                                 "of its own");
}

template <class Change>
void HttpEngine::order(Change change) {
  if (in_child()) return;
  const std::lock_guard lock(mutex_);
  if (orders_.stop) return;
  change();
  multi_.wake();
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
  if (!awake) multi_.wake();
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
    multi_.step(begin_due());
    multi_.collect([this](CURL *handle, CURLcode code) {
      const Exchange exchange = under_way_.at(handle);
      or_fail(exchange, [&] { attempt_ended(exchange, code); });
    });
  }
  cancel_open("the connection is being closed");
  spare_.clear();
  multi_.close();
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

// Begins the attempts whose time has come; gives how long until the next one.
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
  under_way_.emplace(transfer->handle(), exchange);
  exchange->transfer = std::move(transfer);
  multi_.add(exchange->transfer->handle());
}

void HttpEngine::attempt_ended(const Exchange &exchange, CURLcode code) {
  Transfer &transfer = *exchange->transfer;
  code = transfer.settled(code);
  const Attempt attempt = transfer.outcome(code);
  const double random = std::uniform_real_distribution<>(0, 1)(random_);
  const auto wait = exchange->retries.after(attempt, random);
  if (!wait && code == CURLE_OK) return finish(exchange, transfer.take_answer(exchange->request));
  Error error = code == CURLE_OK ? answer_error(transfer.take_answer(exchange->request), "")
                                 : transfer.failure(code, exchange->request);
  if (!wait) return fail(exchange, [&] { return std::move(error); });
  logger_->info(std::string(error.what()) + "; trying again in " + std::to_string(wait->count()) +
                " ms");
  release_transfer(*exchange);
  exchange->due = steady_clock::now() + (options_.retry_wait ? options_.retry_wait(*wait) : *wait);
}

void HttpEngine::release_transfer(HttpExchange &exchange) noexcept {
  if (!exchange.transfer) return;
  multi_.remove(exchange.transfer->handle());
  under_way_.erase(exchange.transfer->handle());
  try {
    if (spare_.size() < options_.open_limit) spare_.push_back(std::move(exchange.transfer));
  } catch (const std::bad_alloc &) {
    // The next request makes one of its own.
  }
  exchange.transfer.reset();
}

void HttpEngine::finish(const Exchange &exchange, HttpAnswer answer) noexcept {
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

}  // namespace det::http
