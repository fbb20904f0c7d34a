#include "core/cloud/azure/azure_token.h"

#include <charconv>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/process/environment.h"
#include "core/base/process/run_command.h"
#include "core/base/text/printable.h"
#include "core/cloud/storage_fields.h"

namespace det::cloud {

namespace {

// Services disagree about whether these are numbers.
std::optional<int64_t> seconds_in(const Json &object, const char *name) {
  const auto found = object.find(name);
  if (found == object.end()) return std::nullopt;
  if (found->is_number()) return static_cast<int64_t>(found->get<double>());
  const std::string text = optional_text(object, name);
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return seconds;
}

Json object_in(const std::string &text) {
  try {
    return parse_json_object(text, "it");
  } catch (const Error &) {
    return Json::object();
  }
}

class EntraProtocol : public Protocol {
 public:
  void sign(http::HttpRequest &, RequestScope *) override {}
  void renew(const http::HttpResponse &) override {}

  Refusal refusal_of(const http::HttpResponse &answer) override {
    const Json body = object_in(answer.body);
    Refusal refusal{Code::access, Refusal::Again::no, "status " + std::to_string(answer.status),
                    ""};
    for (const char *name : {"error", "error_description"})
      if (const std::string text = optional_text(body, name); !text.empty())
        refusal.reason += ", " + printable(text.substr(0, std::min<size_t>(300, text.find('\r'))));
    // The service of a machine is updated now and then, and says 404 or 410 meanwhile.
    const int status = answer.status;
    if (status == 404 || status == 408 || status == 410 || status == 429 || status >= 500) {
      refusal.code = Code::unavailable;
      refusal.again = Refusal::Again::soon;
    } else {
      refusal.remedy = "check the identity, its secret and the clock of this machine";
    }
    return refusal;
  }
};

}  // namespace

AzureToken azure_token_of(const std::string &json, const std::string &whose) {
  const Json answer = object_in(json);
  std::string token = optional_text(answer, "access_token");
  if (token.empty()) token = optional_text(answer, "accessToken");
  if (token.empty() || token.find_first_of("\r\n ") != token.npos)
    throw Error(Code::corrupt, "asking for a token of " + whose + ": the answer holds none");
  using Clock = AzureTokens::Clock;
  const auto life = seconds_in(answer, "expires_in");
  const auto end = seconds_in(answer, "expires_on");
  const Clock::time_point ends = life  ? Clock::now() + std::chrono::seconds(*life)
                                 : end ? Clock::time_point(std::chrono::seconds(*end))
                                       : Clock::now() + std::chrono::minutes(10);
  return {std::move(token), ends};
}

AzureToken ask_for_azure_token(http::HttpRequest request, const std::string &whose,
                               const http::HttpOptions &options, const RequestPolicy &policy,
                               const std::shared_ptr<Logger> &logger, RequestScope *scope) {
  const Requests requests(options, policy, std::make_shared<EntraProtocol>(), logger);
  const http::HttpResponse answer = requests.within(scope).perform(
      {.tried = "asking for a token of " + whose, .request = std::move(request)});
  return azure_token_of(answer.body, whose);
}

namespace {

class TokenSources {
 public:
  TokenSources(const AzureTokenOptions &options, std::shared_ptr<Logger> logger)
      : options_(options), logger_(std::move(logger)) {
    if (options_.client_id.empty()) options_.client_id = environment_variable("AZURE_CLIENT_ID");
    local_ = options_.http;
    local_.proxy = {};  // nobody else may see what a machine says to itself
  }

  AzureTokenSource application() const {
    const std::string tenant = environment_variable("AZURE_TENANT_ID");
    const std::string secret = environment_variable("AZURE_CLIENT_SECRET");
    const std::string file = environment_variable("AZURE_FEDERATED_TOKEN_FILE");
    if (tenant.empty() || options_.client_id.empty() || (secret.empty() && file.empty())) return {};
    const std::string whose = (secret.empty() ? "the workload identity '" : "the application '") +
                              options_.client_id + "'";
    return {whose, [self = *this, url = authority() + tenant + "/oauth2/v2.0/token", secret, file,
                    whose](RequestScope *scope) {
              FormFields fields{{"grant_type", "client_credentials"},
                                {"client_id", self.options_.client_id},
                                {"scope", std::string(azure_storage_resource) + ".default"}};
              if (!secret.empty()) {
                fields.emplace_back("client_secret", secret);
              } else {
                std::string assertion = read_file(file);  // anew: it is replaced every hour
                assertion.erase(assertion.find_last_not_of(" \t\r\n") + 1);
                fields.emplace_back("client_assertion_type",
                                    "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
                fields.emplace_back("client_assertion", assertion);
              }
              return self.ask({.method = "POST",
                               .url = url,
                               .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
                               .body = form_of(fields)},
                              whose, self.options_.http, scope);
            }};
  }

  // What App Service, Functions and Container Apps set, and what Azure ML does.
  AzureTokenSource platform() const {
    const std::string endpoint = environment_variable("IDENTITY_ENDPOINT");
    const std::string header = environment_variable("IDENTITY_HEADER");
    if (!endpoint.empty() && !header.empty())
      return managed(endpoint + "?api-version=2019-08-01", "client_id",
                     {"X-IDENTITY-HEADER", header}, "the identity of this service");
    const std::string old_endpoint = environment_variable("MSI_ENDPOINT");
    const std::string secret = environment_variable("MSI_SECRET");
    if (!old_endpoint.empty() && !secret.empty())
      return managed(old_endpoint + "?api-version=2017-09-01", "clientid", {"secret", secret},
                     "the identity of this service");
    return {};
  }

  AzureTokenSource machine() const {
    std::string host = environment_variable("AZURE_POD_IDENTITY_AUTHORITY_HOST");
    if (host.empty()) host = "http://169.254.169.254";
    while (host.ends_with('/')) host.pop_back();
    return managed(host + "/metadata/identity/oauth2/token?api-version=2018-02-01", "client_id",
                   {"Metadata", "true"}, "the identity of this machine");
  }

  AzureTokenSource user() const {
    return {"the user of `az login`", [](RequestScope *) {
              const CommandResult said =
                  run_command("az account get-access-token --output json --resource " +
                                  std::string(azure_storage_resource) + " 2>/dev/null",
                              {}, std::chrono::seconds(30));
              if (said.status != 0)
                throw Error(Code::access, "asking `az` for a token: it has none; run `az login`");
              return azure_token_of(said.output, "the user of `az login`");
            }};
  }

  // Patient only where somebody is known to be there.
  TokenSources impatient() const {
    TokenSources other = *this;
    other.options_.policy.attempts = 2;
    other.options_.policy.connect_timeout = std::chrono::milliseconds{1000};
    other.options_.policy.rate_floor = {1, std::chrono::seconds{2}};
    return other;
  }

 private:
  AzureTokenSource managed(std::string url, const char *id_parameter, http::HttpHeader proof,
                           const std::string &whose) const {
    url += "&" + form_of({{"resource", azure_storage_resource}});
    if (!options_.client_id.empty()) url += "&" + form_of({{id_parameter, options_.client_id}});
    return {whose, [self = *this, url, proof, whose](RequestScope *scope) {
              return self.ask({.url = url, .headers = {proof}}, whose, self.local_, scope);
            }};
  }

  AzureToken ask(http::HttpRequest request, const std::string &whose,
                 const http::HttpOptions &options, RequestScope *scope) const {
    return ask_for_azure_token(std::move(request), whose, options, options_.policy, logger_, scope);
  }

  static std::string authority() {
    std::string host = environment_variable("AZURE_AUTHORITY_HOST");
    if (host.empty()) host = "https://login.microsoftonline.com";
    if (!host.starts_with("https://") && !host.starts_with("http://127.0.0.1:"))
      host = "https://" + host.substr(host.starts_with("http://") ? 7 : 0);
    return host + (host.ends_with('/') ? "" : "/");
  }

  AzureTokenOptions options_;
  http::HttpOptions local_;
  std::shared_ptr<Logger> logger_;
};

// Whether it is there can only be found by asking it.
bool answers(const AzureTokenSource &source, Logger &logger, RequestScope *scope) {
  try {
    source.fetch(scope);
    return true;
  } catch (const Error &error) {
    if (error.code == Code::state) throw;
    logger.debug(error.what());
    return false;
  }
}

}  // namespace

AzureTokenSource find_azure_token_source(const AzureTokenOptions &options,
                                         const std::shared_ptr<Logger> &logger,
                                         RequestScope *scope) {
  const TokenSources sources(options, logger);
  if (AzureTokenSource source = sources.application(); source.fetch) return source;
  if (AzureTokenSource source = sources.platform(); source.fetch) return source;
  if (answers(sources.impatient().machine(), *logger, scope)) return sources.machine();
  if (AzureTokenSource source = sources.user(); answers(source, *logger, scope)) return source;
  return {};
}

}  // namespace det::cloud
