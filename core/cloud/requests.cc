#include "core/cloud/requests.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/text/percent.h"
#include "core/http/date.h"

namespace det::cloud {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::minutes longest_work{15};
constexpr int64_t skew_taken = 240;  // seconds; S3 and Azure refuse from 900 on

// A single thread, which copies all bytes and encrypts them, carries less than a fast network does.
constexpr unsigned most_clients = 4;
constexpr long enough = 4;  // requests, before another thread helps

// Requests under way: their pointers are the only ones beside that of the list.
long load_of(const std::shared_ptr<http::HttpClient> &client) { return client.use_count() - 1; }

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

}  // namespace

int64_t StoreClock::now_s() const { return now_us() / 1'000'000 + behind_; }

std::optional<int64_t> StoreClock::skew_in(const http::HttpResponse &answer) const {
  const auto date = http::parse_date(answer.header("date"));
  if (!date || std::abs(*date - now_s()) <= skew_taken) return std::nullopt;
  return *date - now_us() / 1'000'000;
}

bool StoreClock::learn(const http::HttpResponse &answer, Logger &logger) {
  const auto skew = skew_in(answer);
  if (!skew) return false;
  logger.warning("the clock of this machine differs from the store's by ", std::to_string(*skew),
                 " s; requests are signed for the store's");
  behind_ = *skew;
  return true;
}

std::string form_of(const FormFields &fields) {
  std::string form;
  for (const auto &[name, value] : fields)
    form += (form.empty() ? "" : "&") + name + "=" + percent_encoded(value);
  return form;
}

// What the copies of Requests have in common.
class Requests::Shared {
 public:
  Shared(http::HttpOptions options, RequestPolicy policy, std::shared_ptr<Protocol> protocol,
         std::shared_ptr<Logger> logger)
      : policy(std::move(policy)),
        protocol(std::move(protocol)),
        logger(std::move(logger)),
        options_(std::move(options)),
        most_(std::clamp(std::thread::hardware_concurrency(), 1U, most_clients)) {
    clients_.push_back(std::make_shared<http::HttpClient>(options_, this->logger));
  }

  // The client that has the least to do; another is made where all have enough. It counts as busy
  // until the pointer is let go of.
  std::shared_ptr<http::HttpClient> client() {
    const std::lock_guard lock(mutex_);
    const auto least =
        std::min_element(clients_.begin(), clients_.end(),
                         [](const auto &a, const auto &b) { return load_of(a) < load_of(b); });
    if (load_of(*least) < enough || clients_.size() == most_) return *least;
    try {
      clients_.push_back(std::make_shared<http::HttpClient>(options_, logger));
      return clients_.back();
    } catch (const std::exception &) {
      return clients_.front();  // no thread, or no descriptor, is left: it goes without
    }
  }

  const RequestPolicy policy;
  const std::shared_ptr<Protocol> protocol;
  const std::shared_ptr<Logger> logger;

 private:
  const http::HttpOptions options_;
  const size_t most_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<http::HttpClient>> clients_;
};

Requests::Requests(http::HttpOptions options, RequestPolicy policy,
                   std::shared_ptr<Protocol> protocol, std::shared_ptr<Logger> logger)
    : shared_(std::make_shared<Shared>(without_retries(std::move(options)), std::move(policy),
                                       std::move(protocol), std::move(logger))) {}

Requests Requests::within(RequestScope *scope) const {
  Requests some = *this;
  some.scope_ = scope;
  return some;
}

// Not tried again, unlike what the client throws.
http::HttpResponse Requests::send(http::HttpRequest request, const std::string &tried) const {
  const auto client = shared_->client();
  if (scope_ == nullptr || scope_->stop() == nullptr) return client->perform(std::move(request));
  if (!scope_->is_stopped())
    if (auto answer = client->send(std::move(request)).wait_unless(*scope_->stop()))
      return *std::move(answer);
  throw Error(Code::state, tried + ": it was stopped");
}

void Requests::wait(milliseconds time) const {
  if (scope_ != nullptr) scope_->wait(time);
  else std::this_thread::sleep_for(time);
}

// Waits before another attempt; false: there is to be none.
bool Requests::wait_again(milliseconds time) const {
  if (scope_ != nullptr && scope_->is_stopped()) return false;
  if (shared_->policy.wait) return shared_->policy.wait(time);
  wait(time);
  return scope_ == nullptr || !scope_->is_stopped();
}

http::HttpResponse Requests::perform(Call call) const {
  using Again = Refusal::Again;
  const RequestPolicy &policy = shared_->policy;
  const int attempts = scope_ != nullptr && scope_->attempts > 0
                           ? std::min(scope_->attempts, policy.attempts)
                           : policy.attempts;
  const auto give_up = steady_clock::now() + policy.patience;
  call.request.replay = http::Replay::safe;
  // The floor on the rate ends what does not move.
  call.request.timeout = call.takes_long ? longest_work : milliseconds{0};
  call.request.rate_floor = call.takes_long ? http::RateFloor{} : policy.rate_floor;
  call.request.connect_timeout = policy.connect_timeout;
  call.request.keep_headers = true;
  int renewals_left = 3;
  for (int attempt = 1;; ++attempt) {
    Refusal refusal;
    int status = 0;
    try {
      http::HttpRequest request = call.request;
      shared_->protocol->sign(request, scope_);
      http::HttpResponse answer = send(std::move(request), call.tried);
      std::optional<Refusal> found;
      if (!is_expected(call, answer.status)) found = shared_->protocol->refusal_of(answer);
      else if (call.check) found = call.check(answer);
      if (!found) return answer;
      refusal = std::move(*found);
      status = answer.status;
      if (refusal.again == Again::renewed && renewals_left > 0) shared_->protocol->renew(answer);
    } catch (const Error &error) {
      if (!is_accident(error)) throw;
      refusal = {error.code, Again::soon, error.what(), ""};
    }
    const bool throttled = refusal.again == Again::throttled;
    if (throttled && scope_ != nullptr) scope_->count_throttled();
    const bool patient = throttled && (scope_ == nullptr || scope_->attempts == 0);
    const bool more = patient                                     ? steady_clock::now() < give_up
                      : throttled || refusal.again == Again::soon ? attempt < attempts
                      : refusal.again == Again::renewed           ? renewals_left-- > 0
                                                                  : false;
    const std::string what =
        call.tried + ": " + refusal.reason + (refusal.remedy.empty() ? "" : "; " + refusal.remedy);
    const std::string count = attempt > 1 ? " (tried " + std::to_string(attempt) + " times)" : "";
    if (!more) throw Error(refusal.code, what + count, 0, status);
    const milliseconds time =
        refusal.again == Again::renewed ? milliseconds{0} : pause(policy, attempt);
    shared_->logger->debug(what + "; trying again in " + std::to_string(time.count()) + " ms");
    if (!wait_again(time)) throw Error(refusal.code, what + count, 0, status);
    if (call.before_retry) call.before_retry(call.request);
  }
}

}  // namespace det::cloud
