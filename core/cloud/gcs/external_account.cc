#include "core/cloud/gcs/external_account.h"

#include "core/base/base64.h"
#include "core/base/json.h"
#include "core/cloud/gcs/credentials_file.h"
#include "core/cloud/gcs/impersonated_account.h"
#include "core/cloud/gcs/oauth_token.h"
#include "core/cloud/gcs/subject_token.h"

namespace det::cloud {

namespace {

class ExternalAccount : public GoogleCredentials {
 public:
  ExternalAccount(const Json &content, const std::string &file, TokenContext context)
      : file_(file),
        url_(required_text(content, "token_url", file)),
        context_(std::move(context)),
        subject_(subject_token_source(content, file, *context_.service)) {
    fields_ = {{"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
               {"requested_token_type", "urn:ietf:params:oauth:token-type:access_token"},
               {"audience", required_text(content, "audience", file)},
               {"subject_token_type", required_text(content, "subject_token_type", file)},
               {"scope", context_.scope}};
    const std::string client = optional_text(content, "client_id");
    const std::string project = optional_text(content, "workforce_pool_user_project");
    if (!client.empty())
      headers_ = {{"Authorization",
                   "Basic " + to_base64(client + ":" + optional_text(content, "client_secret"))}};
    else if (!project.empty()) fields_.push_back({"options", to_wire({{"userProject", project}})});
  }

  std::string name() const override { return "the external account of '" + file_ + "'"; }

  AccessToken fetch() override {
    TokenService::Fields fields = fields_;
    fields.push_back({"subject_token", subject_()});
    return token_of(context_.service->post_form(
        "exchanging a token of " + name() + " at '" + url_ + "'", url_, fields, headers_));
  }

 private:
  const std::string file_, url_;
  const TokenContext context_;
  const SubjectTokenSource subject_;
  TokenService::Fields fields_;
  std::vector<http::HttpHeader> headers_;
};

int64_t impersonation_lifetime(const Json &content) {
  const auto options = content.find("service_account_impersonation");
  if (options == content.end() || !options->is_object()) return 0;
  const auto lifetime = options->find("token_lifetime_seconds");
  return lifetime != options->end() && lifetime->is_number_integer() ? lifetime->get<int64_t>() : 0;
}

}  // namespace

std::unique_ptr<GoogleCredentials> external_account(const Json &content, const std::string &file,
                                                    const TokenContext &context) {
  const std::string url = optional_text(content, "service_account_impersonation_url");
  if (url.empty()) return std::make_unique<ExternalAccount>(content, file, context);
  TokenContext of_source = context;
  of_source.scope = cloud_platform_scope;
  return impersonated(std::make_unique<ExternalAccount>(content, file, of_source), url,
                      Json::array(), impersonation_lifetime(content), context);
}

}  // namespace det::cloud
