#include "core/cloud/gcs/oauth_token.h"

#include <chrono>

#include "core/base/base64.h"
#include "core/base/json.h"
#include "core/cloud/gcs/credentials_file.h"
#include "core/cloud/gcs/google_answer.h"

namespace det::cloud {

namespace {

class RefreshedUser : public GoogleCredentials {
 public:
  RefreshedUser(const Json &content, const std::string &file, const TokenContext &context)
      : file_(file),
        client_id_(required_text(content, "client_id", file)),
        client_secret_(required_text(content, "client_secret", file)),
        refresh_token_(required_text(content, "refresh_token", file)),
        of_pool_(optional_text(content, "type") == "external_account_authorized_user"),
        context_(context) {
    url_ =
        of_pool_ ? required_text(content, "token_url", file) : optional_text(content, "token_uri");
    if (url_.empty()) url_ = oauth_token_url;
  }

  std::string name() const override { return "the user of '" + file_ + "'"; }

  AccessToken fetch() override {
    TokenService::Fields fields{{"grant_type", "refresh_token"}, {"refresh_token", refresh_token_}};
    std::vector<http::HttpHeader> headers;
    if (of_pool_) {
      headers.push_back({"Authorization", "Basic " + to_base64(client_id_ + ":" + client_secret_)});
    } else {
      fields.push_back({"client_id", client_id_});
      fields.push_back({"client_secret", client_secret_});
    }
    const Json answer = context_.service->post_form(
        "asking '" + url_ + "' for a token of " + name(), url_, fields, std::move(headers));
    // Those of a pool may be good for one use.
    if (std::string next = optional_text(answer, "refresh_token"); !next.empty())
      refresh_token_ = std::move(next);
    return token_of(answer);
  }

 private:
  const std::string file_, client_id_, client_secret_;
  std::string refresh_token_, url_;
  const bool of_pool_;
  const TokenContext context_;
};

}  // namespace

AccessToken token_of(const Json &answer) {
  const std::chrono::seconds lifetime{
      static_cast<int64_t>(std::min<uint64_t>(number_member(answer, "expires_in"), 86'400))};
  return {text_member(answer, "access_token"), std::chrono::system_clock::now() + lifetime};
}

std::unique_ptr<GoogleCredentials> refreshed_user(const Json &content, const std::string &file,
                                                  const TokenContext &context) {
  return std::make_unique<RefreshedUser>(content, file, context);
}

}  // namespace det::cloud
