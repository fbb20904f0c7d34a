// Requests to those who give out tokens: token endpoints, IAM, and metadata servers.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/log.h"
#include "core/cloud/requests.h"

namespace det::cloud {

// Safe from any thread. A connection lasts as long as a call: tokens are asked for once an hour.
class TokenService {
 public:
  using Fields = std::vector<std::pair<std::string, std::string>>;

  TokenService(http::HttpOptions options, RequestPolicy policy, std::shared_ptr<Logger> logger);

  // Each throws Code::access where it is refused, with what was said but no secret. `tried` is the
  // beginning of messages: "asking 'https://...' for a token".
  Json post_form(const std::string &tried, const std::string &url, const Fields &fields,
                 std::vector<http::HttpHeader> headers = {});
  Json post_json(const std::string &tried, const std::string &url, const Json &body,
                 std::vector<http::HttpHeader> headers);
  http::HttpAnswer get(const std::string &tried, const std::string &url,
                       std::vector<http::HttpHeader> headers);

  // The same but patient for no longer than it takes to know whether anybody is there.
  TokenService impatient() const;
  TokenService direct() const;  // past all proxies

  const std::shared_ptr<Logger> &logger() const { return logger_; }

 private:
  http::HttpAnswer ask(Call call);
  Json post(const std::string &tried, const std::string &url, std::string body,
            const char *content_type, std::vector<http::HttpHeader> headers);

  http::HttpOptions options_;
  RequestPolicy policy_;
  std::shared_ptr<Logger> logger_;
};

}  // namespace det::cloud
