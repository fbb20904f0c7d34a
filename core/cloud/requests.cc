#include "core/cloud/requests.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>

#include "core/cloud/request_scope.h"

namespace det::cloud {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::minutes longest_work{15};

http::HttpOptions without_retries(http::HttpOptions options) {
  options.retry.total = 0;
  return options;
}

// Between 0 and what doubles with each attempt, so that those who were refused together do not come
// back together.
milliseconds pause(const RequestPolicy &policy, int attempt) {
  thread_local std::minstd_rand random(std::random_device{}());
  const double doubled =
      std::ldexp(static_cast<double>(policy.backoff.count()), std::min(attempt - 1, 30));
  const double longest = std::min(doubled, static_cast<double>(policy.backoff_limit.count()));
  return milliseconds{
      std::llround(std::uniform_real_distribution<>(longest / 10, longest)(random))};
}

bool is_expected(const Call &call, int status) {
  return std::find(call.expected.begin(), call.expected.end(), status) != call.expected.end();
}

// One that a later attempt may not meet.
bool is_accident(const Error &error) {
  return error.code == Code::unavailable || error.code == Code::timeout ||
         error.code == Code::corrupt;
}

// Waits before another attempt; false: there is to be none.
bool wait_again(const RequestPolicy &policy, milliseconds time) {
  const RequestScope *scope = RequestScope::current();
  if (scope != nullptr && scope->is_stopped()) return false;
  if (policy.wait) return policy.wait(time);
  if (scope != nullptr) return scope->wait(time);
  std::this_thread::sleep_for(time);
  return true;
}

}  // namespace

Requests::Requests(http::HttpOptions options, RequestPolicy policy,
                   std::shared_ptr<Dialect> dialect, std::shared_ptr<Logger> logger)
    : policy_(std::move(policy)),
      dialect_(std::move(dialect)),
      logger_(logger),
      clients_(without_retries(std::move(options)), std::move(logger)) {}

// Not tried again, unlike what the client throws.
http::HttpAnswer Requests::send(http::HttpRequest request, const std::string &tried) {
  const RequestScope *scope = RequestScope::current();
  const auto client = clients_.take();
  if (scope == nullptr || scope->stop() == nullptr) return client->perform(std::move(request));
  if (!scope->is_stopped())
    if (auto answer = client->send(std::move(request)).wait_unless(*scope->stop()))
      return *std::move(answer);
  throw Error(Code::state, tried + ": it was stopped");
}

http::HttpAnswer Requests::perform(Call call) {
  using Again = Refusal::Again;
  RequestScope *const scope = RequestScope::current();
  const int attempts = scope != nullptr && scope->attempts > 0
                           ? std::min(scope->attempts, policy_.attempts)
                           : policy_.attempts;
  const auto give_up = steady_clock::now() + policy_.patience;
  call.request.replay = http::Replay::safe;
  // The floor on the rate ends what does not move.
  call.request.timeout = call.takes_long ? longest_work : milliseconds{0};
  call.request.rate_floor = call.takes_long ? http::RateFloor{} : policy_.rate_floor;
  call.request.connect_timeout = policy_.connect_timeout;
  call.request.keep_headers = true;
  int renewals_left = 3;
  for (int attempt = 1;; ++attempt) {
    Refusal refusal;
    int status = 0;
    try {
      http::HttpRequest request = call.request;
      dialect_->sign(request);
      http::HttpAnswer answer = send(std::move(request), call.tried);
      std::optional<Refusal> found;
      if (!is_expected(call, answer.status)) found = dialect_->refusal_of(answer);
      else if (call.check) found = call.check(answer);
      if (!found) return answer;
      refusal = std::move(*found);
      status = answer.status;
      if (refusal.again == Again::renewed && renewals_left > 0) dialect_->renew(answer);
    } catch (const Error &error) {
      if (!is_accident(error)) throw;
      refusal = {error.code, Again::soon, error.what(), ""};
    }
    const bool throttled = refusal.again == Again::throttled;
    if (throttled && scope != nullptr) scope->count_throttled();
    const bool patient = throttled && (scope == nullptr || scope->attempts == 0);
    const bool more = patient                                     ? steady_clock::now() < give_up
                      : throttled || refusal.again == Again::soon ? attempt < attempts
                      : refusal.again == Again::renewed           ? renewals_left-- > 0
                                                                  : false;
    const std::string what =
        call.tried + ": " + refusal.reason + (refusal.remedy.empty() ? "" : "; " + refusal.remedy);
    const std::string count = attempt > 1 ? " (tried " + std::to_string(attempt) + " times)" : "";
    if (!more) throw Error(refusal.code, what + count, 0, status);
    const milliseconds time =
        refusal.again == Again::renewed ? milliseconds{0} : pause(policy_, attempt);
    logger_->debug(what + "; trying again in " + std::to_string(time.count()) + " ms");
    if (!wait_again(policy_, time)) throw Error(refusal.code, what + count, 0, status);
    if (call.before_retry) call.before_retry(call.request);
  }
}

}  // namespace det::cloud
