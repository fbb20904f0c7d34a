// Requests to one object store: signed for each attempt, and tried again while that may help.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/log/log.h"
#include "core/cloud/request_scope.h"
#include "core/cloud/store_refusal.h"
#include "core/http/http_client.h"

namespace det::cloud {

// What S3, GCS and Azure say differently. Safe from any thread.
class Protocol {
 public:
  virtual ~Protocol() = default;
  // Adds what proves who asks. It may ask for credentials, as part of `scope` where there is one,
  // and throws where there are none.
  virtual void sign(http::HttpRequest &request, RequestScope *scope) = 0;
  // What an answer means that was not expected.
  virtual Refusal refusal_of(const http::HttpResponse &answer) = 0;
  // The store takes the credentials of the last attempts no more, or this machine's clock is wrong:
  // the next sign() is to use new ones.
  virtual void renew(const http::HttpResponse &answer) = 0;
};

// The clock of a store, which refuses requests that are signed for another time.
class StoreClock {
 public:
  int64_t now_s() const;
  // How far the clock of this machine is from the store's, as the answer says, where that matters
  // and is not known yet.
  std::optional<int64_t> skew_in(const http::HttpResponse &answer) const;
  // From here on requests are signed for the store's clock. False: it says nothing new.
  bool learn(const http::HttpResponse &answer, Logger &logger);

 private:
  std::atomic<int64_t> behind_{0};  // seconds: what the store's clock says more than ours
};

struct RequestPolicy {
  int attempts = 10;                            // but for throttling
  std::chrono::milliseconds patience{300'000};  // with throttling, from the first attempt
  std::chrono::milliseconds backoff{100};       // doubles, jittered
  std::chrono::milliseconds backoff_limit{20'000};
  http::RateFloor rate_floor{1024, std::chrono::seconds{30}};
  std::chrono::milliseconds connect_timeout{10'000};
  // Instead of sleeping; tests make it short. False: stop trying.
  std::function<bool(std::chrono::milliseconds)> wait{};
};

// A request and how its answers are read. It is sent again as it is, so the store must bear that.
struct Call {
  std::string tried;  // "storing 's3://bucket/key'"
  http::HttpRequest request{};
  std::vector<int> expected{200};  // other statuses are refusals
  // Looks into an answer of an expected status: a refusal may stand in it, or it may be damaged.
  std::function<std::optional<Refusal>(const http::HttpResponse &)> check{};
  // The store works for minutes before it answers, and says next to nothing meanwhile.
  bool takes_long = false;
  // Makes the request anew before another attempt, such as for the rest of a body.
  std::function<void(http::HttpRequest &)> before_retry{};
};

// The body of a form: name=value&...
using FormFields = std::vector<std::pair<std::string, std::string>>;
std::string form_of(const FormFields &fields);

// Copies share their connections.
class Requests {
 public:
  // The options' retries are left out: they would send what is not signed anew.
  Requests(http::HttpOptions options, RequestPolicy policy, std::shared_ptr<Protocol> protocol,
           std::shared_ptr<Logger> logger);

  // The same as part of `scope`, which must outlive them. Null: of none.
  Requests within(RequestScope *scope) const;

  // Blocks, from any thread. Throws when there is no hope, with what was tried and how often; with
  // Code::state once the scope is stopped.
  http::HttpResponse perform(Call call) const;

  // For what the store is still busy with.
  void wait(std::chrono::milliseconds time) const;

  RequestScope *scope() const { return scope_; }

 private:
  class Shared;

  http::HttpResponse send(http::HttpRequest request, const std::string &tried) const;
  bool wait_again(std::chrono::milliseconds time) const;
  std::shared_ptr<Shared> shared_;
  RequestScope *scope_ = nullptr;
};

}  // namespace det::cloud
