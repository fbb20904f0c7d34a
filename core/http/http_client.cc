#include "core/http/http_client.h"

#include <new>

#include "core/http/failure.h"
#include "core/http/http_engine.h"

namespace det::http {

HttpCall::HttpCall(std::shared_ptr<HttpEngine> engine, std::shared_ptr<HttpExchange> exchange)
    : engine_(std::move(engine)), exchange_(std::move(exchange)) {}

HttpAnswer HttpCall::wait() {
  engine_->check_process();
  return exchange_->outcome.take();
}

std::optional<HttpAnswer> HttpCall::wait_unless(const Wake &wake) {
  engine_->check_process();
  if (exchange_->outcome.wait_unless(wake)) return exchange_->outcome.take();
  cancel();
  return std::nullopt;
}

bool HttpCall::wait_for(std::chrono::milliseconds patience) const {
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
