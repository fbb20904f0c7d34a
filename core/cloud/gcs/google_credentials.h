// Who asks Google's services: application default credentials, as its own libraries find them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/log/log.h"
#include "core/cloud/refreshable.h"
#include "core/cloud/requests.h"

namespace det::cloud {

// Requests to those who give out tokens: token endpoints, IAM, and metadata servers. Safe from any
// thread. A connection lasts as long as a call: tokens are asked for once an hour.
class TokenService {
 public:
  TokenService(http::HttpOptions options, RequestPolicy policy, std::shared_ptr<Logger> logger);

  // Each throws Code::access where it is refused, with what was said but no secret. `tried` is the
  // beginning of messages: "asking 'https://...' for a token".
  Json post_form(const std::string &tried, const std::string &url, const FormFields &fields,
                 std::vector<http::HttpHeader> headers = {});
  Json post_json(const std::string &tried, const std::string &url, const Json &body,
                 std::vector<http::HttpHeader> headers);
  http::HttpResponse get(const std::string &tried, const std::string &url,
                         std::vector<http::HttpHeader> headers);

  // The same but patient for no longer than it takes to know whether anybody is there.
  TokenService impatient() const;
  TokenService within(RequestScope *scope) const;
  TokenService direct() const;  // past all proxies

  const std::shared_ptr<Logger> &logger() const { return logger_; }

 private:
  http::HttpResponse ask(Call call);
  Json post(const std::string &tried, const std::string &url, std::string body,
            const char *content_type, std::vector<http::HttpHeader> headers);

  http::HttpOptions options_;
  RequestPolicy policy_;
  std::shared_ptr<Logger> logger_;
  RequestScope *scope_ = nullptr;
};

using AccessTokens = Refreshable<std::string, RequestScope *>;
using AccessToken = AccessTokens::Lease;

class GoogleCredentials {
 public:
  virtual ~GoogleCredentials() = default;
  // Blocks. Throws Code::access where they are not taken, Code::unavailable where nobody answers.
  virtual AccessToken fetch(RequestScope *scope) = 0;
  virtual std::string name() const = 0;  // "the service account 'job@project...'"

  std::string quota_project{};  // whom requests are counted for; empty: whose credentials they are
};

// What fetches tokens, and what they are to be good for.
struct TokenContext {
  std::shared_ptr<TokenService> service;
  std::string scope;
  std::string universe = "googleapis.com";
};

// Those of a credentials file, whose JSON begins with a type. `file` is for messages. Throws
// Code::access for what is malformed or of another type.
std::unique_ptr<GoogleCredentials> google_credentials(const Json &file_content,
                                                      const std::string &file,
                                                      const TokenContext &context);

// GOOGLE_APPLICATION_CREDENTIALS, then the file of gcloud, then the metadata server of Google's
// machines. Blocks for a few seconds where there is none of them, and throws Code::access.
std::unique_ptr<GoogleCredentials> application_default_credentials(const TokenContext &context);

// Throws Code::access; `why` must hold no secret.
[[noreturn]] void refuse_credentials(const std::string &file, const std::string &why);

std::string required_text(const Json &content, const char *member, const std::string &file);

inline constexpr const char *oauth_token_url = "https://oauth2.googleapis.com/token";

// {"access_token", "expires_in"}. Throws Code::corrupt.
AccessToken token_of(const Json &answer);

std::unique_ptr<GoogleCredentials> external_account(const Json &content, const std::string &file,
                                                    const TokenContext &context);

// A file of `gcloud auth application-default login --impersonate-service-account`.
std::unique_ptr<GoogleCredentials> impersonated_account(const Json &content,
                                                        const std::string &file,
                                                        const TokenContext &context);

}  // namespace det::cloud
