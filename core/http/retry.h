// When a request is sent again, and how long to wait before that.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/http/message.h"

namespace det::http {

struct RetryPolicy {
  static constexpr int unlimited = -1;

  int total = 20;
  int connect = unlimited;                 // of them: before anything was sent
  int read = unlimited;                    // after that
  int status = unlimited;                  // for the status of an answer
  std::chrono::milliseconds backoff{500};  // doubles with each retry, jittered
  std::chrono::milliseconds backoff_limit{120'000};
  bool respect_retry_after = true;
  std::vector<int> statuses{502, 503, 504};  // those up to 500 are final even when listed

  // The policy with what DET_RETRY_CONFIG overrides, a JSON object with the keys of urllib3's
  // Retry ({"total": 0}). Empty: nothing. Throws Code::invalid, naming the variable.
  RetryPolicy overridden_by(const std::string &retry_config) const;
};

// How one attempt ended.
struct Attempt {
  bool sent = false;       // something of the request may have left
  bool transient = false;  // no answer, for a reason that may pass
  int status = 0;          // of the answer
  std::optional<std::chrono::seconds> retry_after{};
};

// The attempts of one request.
class Retries {
 public:
  Retries(const RetryPolicy &policy, Replay replay) : policy_(policy), replay_(replay) {}

  // How long to wait before the next attempt; nothing when this one was the last. `random` is in
  // [0, 1).
  std::optional<std::chrono::milliseconds> after(const Attempt &attempt, double random);

 private:
  bool spend(int Retries::*spent, int limit);

  const RetryPolicy &policy_;
  Replay replay_;
  int total_ = 0, connect_ = 0, read_ = 0, status_ = 0;
};

}  // namespace det::http
