#include "core/cloud/azure/azure_credentials.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/text/base64.h"
#include "core/base/text/lower_case.h"
#include "core/base/text/percent.h"
#include "core/cloud/azure/azure_token.h"
#include "core/cloud/digest.h"
#include "core/cloud/url_host.h"

namespace det::cloud {

namespace {

using Sorted = std::map<std::string, std::string>;

std::string lines_of(const Sorted &values) {
  std::string lines;
  for (const auto &[name, value] : values) lines += name + ":" + value + "\n";
  return lines;
}

// "/account/path", then each parameter on a line of its own.
std::string resource_of(const std::string &url, const std::string &account) {
  const size_t host = url.find("://") + 3;
  const size_t path = std::min(url.find_first_of("/?", host), url.size());
  const size_t question = std::min(url.find('?', path), url.size());
  std::string resource = "/" + account + url.substr(path, question - path);
  Sorted parameters;
  for (std::string_view rest = std::string_view(url).substr(question); !rest.empty();) {
    rest.remove_prefix(1);  // '?' or '&'
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(pair.size());
    const size_t equals = std::min(pair.find('='), pair.size());
    if (pair.empty()) continue;
    parameters[lower_case(percent_decoded(pair.substr(0, equals)))] =
        percent_decoded(pair.substr(std::min(equals + 1, pair.size())));
  }
  for (const auto &[name, value] : parameters) resource += "\n" + name + ":" + value;
  return resource;
}

}  // namespace

std::string shared_key_text(const http::HttpRequest &request, const std::string &account,
                            uint64_t size) {
  Sorted standard, own;
  for (const http::HttpHeader &header : request.headers) {
    const std::string name = lower_case(header.name);
    (name.starts_with("x-ms-") ? own : standard)[name] = header.value;
  }
  standard["content-length"] = size == 0 ? "" : std::to_string(size);
  std::string text = request.method + "\n";
  for (const char *name :
       {"content-encoding", "content-language", "content-length", "content-md5", "content-type",
        "date", "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"})
    text += standard[name] + "\n";
  return text + lines_of(own) + resource_of(request.url, account);
}

std::string shared_key_authorization(const http::HttpRequest &request, const std::string &account,
                                     const std::string &key) {
  const uint64_t size = request.source ? request.source->size() : request.body.size();
  return "SharedKey " + account + ":" +
         to_base64(hmac_sha256(key, shared_key_text(request, account, size)));
}

namespace {

class Anonymous : public AzureCredentials {
 public:
  void sign(http::HttpRequest &, RequestScope *) override {}
  bool is_anonymous() const override { return true; }
  std::string remedy() override {
    return "this container wants credentials: take \"anonymous\" out of checkpoint_storage";
  }
};

class AccountKey : public AzureCredentials {
 public:
  AccountKey(std::string account, std::string key)
      : account_(std::move(account)), key_(std::move(key)) {}

  void sign(http::HttpRequest &request, RequestScope *) override {
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

  void sign(http::HttpRequest &request, RequestScope *) override {
    request.url = readable(request.url);
  }
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
      : token_(
            [this, options = std::move(options), logger = std::move(logger)](RequestScope *scope) {
              if (!source_.fetch) source_ = find_azure_token_source(options, logger, scope);
              found_ = source_.fetch != nullptr;
              if (found_) return source_.fetch(scope);
              return AzureToken{"", AzureTokens::Clock::now() + std::chrono::minutes(10)};
            }) {}

  void sign(http::HttpRequest &request, RequestScope *scope) override {
    const std::string token = token_.get(scope);
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
  AzureTokens token_;
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
