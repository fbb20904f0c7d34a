#include "core/cloud/gcs/impersonated_account.h"

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/cloud/gcs/credentials_file.h"
#include "core/cloud/gcs/google_answer.h"

namespace det::cloud {

namespace {

constexpr int64_t default_lifetime_s = 3600;

class Impersonated : public GoogleCredentials {
 public:
  Impersonated(std::unique_ptr<GoogleCredentials> source, std::string url, Json delegates,
               int64_t lifetime_s, TokenContext context)
      : source_(std::move(source)),
        url_(std::move(url)),
        delegates_(std::move(delegates)),
        lifetime_s_(lifetime_s),
        context_(std::move(context)) {
    quota_project = source_->quota_project;
  }

  std::string name() const override {
    return "the service account '" + impersonated_email(url_) + "', as which " + source_->name() +
           " acts";
  }

  AccessToken fetch() override {
    Json asked{{"scope", Json::array({context_.scope})},
               {"lifetime", std::to_string(lifetime_s_) + "s"}};
    if (!delegates_.empty()) asked["delegates"] = delegates_;
    const Json answer =
        context_.service->post_json("asking IAM for a token of " + name(), url_, asked,
                                    {{"Authorization", "Bearer " + source_->fetch().value}});
    const auto ends = parse_iso8601(text_member(answer, "expireTime"));
    if (!ends) throw Error(Code::corrupt, "the answer is damaged: its expireTime is no time");
    return {text_member(answer, "accessToken"),
            std::chrono::system_clock::time_point{std::chrono::microseconds{*ends}}};
  }

 private:
  const std::unique_ptr<GoogleCredentials> source_;
  const std::string url_;
  const Json delegates_;
  const int64_t lifetime_s_;
  const TokenContext context_;
};

}  // namespace

std::string impersonated_email(const std::string &url) {
  const std::string name = url.substr(url.rfind('/') + 1);
  return name.substr(0, name.find(':'));
}

std::unique_ptr<GoogleCredentials> impersonated(std::unique_ptr<GoogleCredentials> source,
                                                const std::string &url, const Json &delegates,
                                                int64_t lifetime_s, const TokenContext &context) {
  return std::make_unique<Impersonated>(std::move(source), url, delegates,
                                        lifetime_s > 0 ? lifetime_s : default_lifetime_s, context);
}

std::unique_ptr<GoogleCredentials> impersonated_account(const Json &content,
                                                        const std::string &file,
                                                        const TokenContext &context) {
  const auto source = content.find("source_credentials");
  if (source == content.end() || !source->is_object())
    refuse_credentials(file, "they have no source_credentials");
  if (optional_text(*source, "type") == "impersonated_service_account")
    refuse_credentials(file, "their source_credentials are impersonated themselves");
  TokenContext of_source = context;
  of_source.scope = cloud_platform_scope;
  const auto delegates = content.find("delegates");
  return impersonated(google_credentials(*source, file, of_source),
                      required_text(content, "service_account_impersonation_url", file),
                      delegates != content.end() ? *delegates : Json::array(), 0, context);
}

}  // namespace det::cloud
