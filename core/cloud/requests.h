// Requests to one object store: signed for each attempt, and tried again while that may help.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/cloud/clients.h"
#include "core/http/message.h"

namespace det::cloud {

// Why a store did not do what it was asked.
struct Refusal {
  enum class Again {
    no,
    soon,       // an accident: a few times
    throttled,  // the store has too much to do: patiently
    renewed,    // at once, with other credentials, clock or place: three times
  };

  Code code = Code::http;
  Again again = Again::no;
  std::string reason;  // in the store's words, without secrets
  std::string remedy;  // what to do, as the end of a sentence; may be empty
};

// What S3, GCS and Azure say differently. Safe from any thread.
class Dialect {
 public:
  virtual ~Dialect() = default;
  // Adds what proves who asks. It may ask for credentials, and throws where there are none.
  virtual void sign(http::HttpRequest &request) = 0;
  // What an answer means that was not expected.
  virtual Refusal refusal_of(const http::HttpAnswer &answer) = 0;
  // The store takes the credentials of the last attempts no more, or this machine's clock is wrong:
  // the next sign() is to use new ones.
  virtual void renew(const http::HttpAnswer &answer) = 0;
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
  std::function<std::optional<Refusal>(const http::HttpAnswer &)> check{};
  // The store works for minutes before it answers, and says next to nothing meanwhile.
  bool takes_long = false;
  // Makes the request anew before another attempt, such as for the rest of a body.
  std::function<void(http::HttpRequest &)> before_retry{};
};

class Requests {
 public:
  // The options' retries are left out: they would send what is not signed anew.
  Requests(http::HttpOptions options, RequestPolicy policy, std::shared_ptr<Dialect> dialect,
           std::shared_ptr<Logger> logger);

  // Blocks, from any thread. Throws when there is no hope, with what was tried and how often.
  // In a RequestScope it ends when that is stopped, with Code::state.
  http::HttpAnswer perform(Call call);

 private:
  http::HttpAnswer send(http::HttpRequest request, const std::string &tried);

  const RequestPolicy policy_;
  const std::shared_ptr<Dialect> dialect_;
  const std::shared_ptr<Logger> logger_;
  Clients clients_;
};

}  // namespace det::cloud
