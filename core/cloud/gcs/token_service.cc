#include "core/cloud/gcs/token_service.h"

#include "core/base/json.h"
#include "core/base/percent.h"
#include "core/cloud/gcs/google_answer.h"

namespace det::cloud {

namespace {

class TokenDialect : public Dialect {
 public:
  void sign(http::HttpRequest &) override {}
  void renew(const http::HttpAnswer &) override {}

  Refusal refusal_of(const http::HttpAnswer &answer) override {
    const GoogleError error = google_error(answer);
    Refusal refusal{Code::access, Refusal::Again::no, "status " + std::to_string(answer.status),
                    ""};
    for (const std::string &text : {error.reason, error.message})
      if (!text.empty()) refusal.reason += ", " + text;
    if (answer.status == 408 || answer.status == 429 || answer.status >= 500) {
      refusal.code = Code::unavailable;
      refusal.again = Refusal::Again::soon;
    } else if (error.reason == "invalid_grant") {
      refusal.remedy =
          "these credentials have ended, or this machine's clock is wrong: check the clock, then "
          "make new ones, such as with `gcloud auth application-default login`";
    } else if (answer.status >= 300 && answer.status < 400) {
      refusal.remedy = "redirects are not followed: check what stands between";
    }
    return refusal;
  }
};

}  // namespace

TokenService::TokenService(http::HttpOptions options, RequestPolicy policy,
                           std::shared_ptr<Logger> logger)
    : options_(std::move(options)), policy_(std::move(policy)), logger_(std::move(logger)) {
  options_.peer.name = "Google";
}

TokenService TokenService::impatient() const {
  RequestPolicy policy = policy_;
  policy.attempts = 3;
  policy.backoff_limit = policy.backoff;
  policy.connect_timeout = std::chrono::milliseconds{1000};
  policy.rate_floor = {1, std::chrono::seconds{2}};
  return {options_, std::move(policy), logger_};
}

TokenService TokenService::direct() const {
  http::HttpOptions options = options_;
  options.proxy = {};
  return {std::move(options), policy_, logger_};
}

http::HttpAnswer TokenService::ask(Call call) {
  Requests requests(options_, policy_, std::make_shared<TokenDialect>(), logger_);
  return requests.perform(std::move(call));
}

http::HttpAnswer TokenService::get(const std::string &tried, const std::string &url,
                                   std::vector<http::HttpHeader> headers) {
  return ask({.tried = tried, .request = {.url = url, .headers = std::move(headers)}});
}

Json TokenService::post(const std::string &tried, const std::string &url, std::string body,
                        const char *content_type, std::vector<http::HttpHeader> headers) {
  headers.push_back({"Content-Type", content_type});
  Json told;
  ask({.tried = tried,
       .request =
           {.method = "POST", .url = url, .headers = std::move(headers), .body = std::move(body)},
       .check = [&](const http::HttpAnswer &answer) -> std::optional<Refusal> {
         told = json_of(answer);  // what is damaged is asked for again
         return std::nullopt;
       }});
  return told;
}

Json TokenService::post_form(const std::string &tried, const std::string &url, const Fields &fields,
                             std::vector<http::HttpHeader> headers) {
  std::string body;
  for (const auto &[name, value] : fields)
    body += (body.empty() ? "" : "&") + name + "=" + percent_encoded(value);
  return post(tried, url, std::move(body), "application/x-www-form-urlencoded", std::move(headers));
}

Json TokenService::post_json(const std::string &tried, const std::string &url, const Json &body,
                             std::vector<http::HttpHeader> headers) {
  return post(tried, url, to_wire(body), "application/json", std::move(headers));
}

}  // namespace det::cloud
