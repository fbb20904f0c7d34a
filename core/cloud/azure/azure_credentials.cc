#include "core/cloud/azure/azure_credentials.h"

#include <atomic>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/percent.h"
#include "core/cloud/azure/azure_token.h"
#include "core/cloud/azure/shared_key.h"
#include "core/cloud/url_host.h"

namespace det::cloud {

namespace {

class Anonymous : public AzureCredentials {
 public:
  void sign(http::HttpRequest &) override {}
  bool is_anonymous() const override { return true; }
  std::string remedy() override {
    return "this container wants credentials: take \"anonymous\" out of checkpoint_storage";
  }
};

class AccountKey : public AzureCredentials {
 public:
  AccountKey(std::string account, std::string key)
      : account_(std::move(account)), key_(std::move(key)) {}

  void sign(http::HttpRequest &request) override {
    request.headers.push_back({"Authorization", shared_key_authorization(request, account_, key_)});
  }
  std::string remedy() override {
    return "check that the key is one of account '" + account_ + "' and has not been replaced";
  }

 private:
  const std::string account_, key_;
};

class SasToken : public AzureCredentials {
 public:
  explicit SasToken(std::string sas) : sas_(std::move(sas)) {}

  void sign(http::HttpRequest &request) override { request.url = readable(request.url); }
  std::string readable(const std::string &url) override {
    return url + (url.find('?') == url.npos ? "?" : "&") + sas_;
  }
  std::string remedy() override {
    const std::string end = percent_decoded(parameter("se"));
    const auto time = parse_iso8601(end);
    if (time && *time < now_us()) return "the SAS token ended at " + end + ": make another one";
    return "check that the SAS token is for this container, has not been revoked and allows rwdlac "
           "(it says '" +
           parameter("sp") + "')";
  }

 private:
  std::string parameter(const std::string &name) const {
    const std::string text = "&" + sas_;
    const size_t begin = text.find("&" + name + "=");
    if (begin == text.npos) return "";
    const size_t value = begin + name.size() + 2;
    return text.substr(value, text.find('&', value) - value);
  }

  const std::string sas_;
};

// Without any, a public container can still be read.
class EntraToken : public AzureCredentials {
 public:
  EntraToken(AzureTokenOptions options, std::shared_ptr<Logger> logger)
      : token_([this, options = std::move(options), logger = std::move(logger)] {
          if (!source_.fetch) source_ = find_azure_token_source(options, logger);
          found_ = source_.fetch != nullptr;
          if (found_) return source_.fetch();
          return AzureToken{"", Renewed<std::string>::Clock::now() + std::chrono::minutes(10)};
        }) {}

  void sign(http::HttpRequest &request) override {
    const std::string token = token_.get();
    if (!token.empty()) request.headers.push_back({"Authorization", "Bearer " + token});
  }
  bool can_drop() const override { return true; }
  void drop() override { token_.drop(); }
  bool is_anonymous() const override { return !found_; }
  std::string remedy() override {
    if (!found_)
      return "no credentials were found: give 'credential' or a connection_string, set "
             "AZURE_CLIENT_ID, AZURE_TENANT_ID and AZURE_CLIENT_SECRET, give this machine an "
             "identity, or run `az login`";
    return "give " + source_.name + " the role Storage Blob Data Contributor for the container";
  }

 private:
  AzureTokenSource source_;  // written by one thread, and only before `found_`
  std::atomic<bool> found_{false};
  Renewed<std::string> token_;
};

bool is_private(const std::string &endpoint) {
  return endpoint.starts_with("https://") || is_loopback(host_of(endpoint));
}

}  // namespace

std::unique_ptr<AzureCredentials> azure_credentials(const AzureConfig &config,
                                                    const http::HttpOptions &http,
                                                    std::shared_ptr<Logger> logger) {
  if (config.anonymous) return std::make_unique<Anonymous>();
  if (!config.account_key.empty())
    return std::make_unique<AccountKey>(config.address.account, config.account_key);
  if (!is_private(config.address.endpoint))
    throw Error(Code::invalid,
                "reading checkpoint_storage of type azure: neither a token nor a SAS is sent "
                "without encryption; give account_url as https://");
  if (!config.address.sas.empty()) return std::make_unique<SasToken>(config.address.sas);
  return std::make_unique<EntraToken>(AzureTokenOptions{config.client_id, http, {}},
                                      std::move(logger));
}

}  // namespace det::cloud
