#include "core/http/retry.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.h"
#include "core/base/json.h"

namespace det::http {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds retry_after_limit{3'600'000};

[[noreturn]] void refuse(const std::string &key, const char *expected) {
  throw Error(Code::invalid,
              "reading the variable DET_RETRY_CONFIG: '" + key + "' must be " + expected);
}

// urllib3 takes null for "no limit of its own" and false for "not once".
int limit_of(const std::string &key, const Json &value) {
  if (value.is_null()) return RetryPolicy::unlimited;
  if (value == Json(false)) return 0;
  const auto limit = value.is_number_integer() ? value.get<int64_t>() : -1;
  if (limit < 0) refuse(key, "an integer from 0, null or false");
  return static_cast<int>(std::min<int64_t>(limit, 1'000'000));
}

milliseconds seconds_of(const std::string &key, const Json &value) {
  const double seconds = value.is_number() ? value.get<double>() : -1;
  if (!(seconds >= 0 && seconds <= 86400)) refuse(key, "a number of seconds from 0 to 86400");
  return milliseconds{std::llround(seconds * 1000)};
}

bool asks_to_come_back(int status) { return status == 413 || status == 429 || status == 503; }

}  // namespace

RetryPolicy RetryPolicy::overridden_by(const std::string &retry_config) const {
  // What these say is decided by each request here.
  constexpr std::array ignored = {"allowed_methods", "method_whitelist",
                                  "raise_on_status", "raise_on_redirect",
                                  "redirect",        "other",
                                  "backoff_jitter",  "remove_headers_on_redirect"};
  RetryPolicy policy = *this;
  if (retry_config.empty()) return policy;
  const Json config = parse_json_object(retry_config, "the variable DET_RETRY_CONFIG");
  for (const auto &[key, value] : config.items()) {
    if (key == "total") {
      policy.total = limit_of(key, value);
    } else if (key == "connect") {
      policy.connect = limit_of(key, value);
    } else if (key == "read") {
      policy.read = limit_of(key, value);
    } else if (key == "status") {
      policy.status = limit_of(key, value);
    } else if (key == "backoff_factor") {
      policy.backoff = seconds_of(key, value);
    } else if (key == "backoff_max") {
      policy.backoff_limit = seconds_of(key, value);
    } else if (key == "respect_retry_after_header") {
      if (!value.is_boolean()) refuse(key, "true or false");
      policy.respect_retry_after = value.get<bool>();
    } else if (key == "status_forcelist") {
      policy.statuses.clear();
      if (!value.is_array() && !value.is_null()) refuse(key, "an array of statuses");
      for (const Json &status : value) {
        if (!status.is_number_integer()) refuse(key, "an array of statuses");
        policy.statuses.push_back(status.get<int>());
      }
    } else if (std::find(ignored.begin(), ignored.end(), key) == ignored.end()) {
      throw Error(Code::invalid, "reading the variable DET_RETRY_CONFIG: unknown key '" + key +
                                     "'; it takes those of urllib3's Retry");
    }
  }
  return policy;
}

bool Retries::spend(int Retries::*spent, int limit) {
  if (policy_.total != RetryPolicy::unlimited && total_ >= policy_.total) return false;
  if (limit != RetryPolicy::unlimited && this->*spent >= limit) return false;
  ++total_;
  ++(this->*spent);
  return true;
}

std::optional<milliseconds> Retries::after(const Attempt &attempt, double random) {
  if (replay_ == Replay::never || (attempt.sent && replay_ == Replay::unsent)) return std::nullopt;
  if (attempt.status == 0) {
    if (!attempt.transient) return std::nullopt;
    if (!(attempt.sent ? spend(&Retries::read_, policy_.read)
                       : spend(&Retries::connect_, policy_.connect)))
      return std::nullopt;
  } else {
    const bool invited = policy_.respect_retry_after && attempt.retry_after.has_value() &&
                         asks_to_come_back(attempt.status);
    const bool listed =
        attempt.status > 500 &&
        std::count(policy_.statuses.begin(), policy_.statuses.end(), attempt.status) > 0;
    if (!(invited || listed) || !spend(&Retries::status_, policy_.status)) return std::nullopt;
    if (invited) return std::min<milliseconds>(*attempt.retry_after, retry_after_limit);
  }
  const double doubled =
      std::ldexp(static_cast<double>(policy_.backoff.count()), std::min(total_ - 1, 60));
  const double longest = std::min(doubled, static_cast<double>(policy_.backoff_limit.count()));
  return milliseconds{std::llround(longest * (0.5 + 0.5 * random))};
}

}  // namespace det::http
