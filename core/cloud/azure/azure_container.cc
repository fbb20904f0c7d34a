#include "core/cloud/azure/azure_container.h"

#include "core/base/base64.h"
#include "core/base/error.h"
#include "core/base/percent.h"
#include "core/cloud/azure/azure_key.h"
#include "core/cloud/azure/azure_refusal.h"
#include "core/cloud/digest.h"
#include "core/cloud/request_scope.h"

namespace det::cloud {

AzureContainer::AzureContainer(AzureConfig config, http::HttpOptions http, RequestPolicy policy,
                               const std::shared_ptr<Logger> &logger)
    : config_(std::move(config)),
      url_(config_.address.endpoint + "/" + percent_encoded(config_.address.container)),
      dialect_(std::make_shared<AzureDialect>(azure_credentials(config_, http, logger), logger)),
      logger_(logger),
      requests_(std::move(http), std::move(policy), dialect_, logger) {}

void AzureContainer::make() {
  const std::string name = "'azure://" + config_.address.container + "'";
  if (!config_.makes_container)
    return logger_->warning("account_url names a container, ", name,
                            ": it is not made, and blobs go below '" + config_.address.folder +
                                "' in it; give account_url without its path where that is wrong");
  if (config_.anonymous) return;
  // Soon it is plain whether anybody is there.
  const RequestScope *outer = RequestScope::current();
  RequestScope scope(outer != nullptr ? outer->stop() : nullptr);
  scope.attempts = 4;
  const InRequestScope in_scope(scope);
  Call call{.tried = "making the container " + name,
            .request = {.method = "PUT", .url = url("restype=container")},
            .expected = {201, 400, 409}};
  bool odd = false;
  call.check = [&](const http::HttpAnswer &answer) -> std::optional<Refusal> {
    const std::string code = azure_error_code(answer);
    odd = code == "InvalidUri";
    if (answer.status == 201 || code == "ContainerAlreadyExists" || odd) return std::nullopt;
    return dialect_->refusal_of(answer);
  };
  try {
    requests_.perform(std::move(call));
  } catch (const Error &error) {
    // Who may not make containers may well use one.
    if (error.code != Code::access || !is_there()) throw;
    logger_->debug(error.what());
  }
  if (odd)
    logger_->warning("the store takes ", name,
                     " for no container that can be made; it is used as it is");
}

// Who may only write does not see it either; that is found out soon enough.
bool AzureContainer::is_there() {
  try {
    ask("looking into the container 'azure://" + config_.address.container + "'",
        url("restype=container&comp=list&maxresults=1"), "EnumerationResults");
    return true;
  } catch (const Error &error) {
    if (error.code == Code::not_found) throw;
    return false;
  }
}

std::string AzureContainer::name_of(const std::string &key) const {
  return "azure://" + config_.address.container + "/" + config_.address.folder + key;
}

std::string AzureContainer::url_of(const std::string &key, const std::string &query) const {
  check_azure_key(config_.address.folder + key, name_of(key));
  return url_ + "/" + percent_encoded(config_.address.folder + key, "/") +
         (query.empty() ? "" : "?" + query);
}

std::string AzureContainer::url(const std::string &query) const { return url_ + "?" + query; }

std::unique_ptr<XmlAnswer> AzureContainer::ask(const std::string &tried, const std::string &url,
                                               const char *root) {
  std::unique_ptr<XmlAnswer> read;
  Call call{.tried = tried, .request = {.url = url}};
  call.check = [&](const http::HttpAnswer &answer) -> std::optional<Refusal> {
    read = std::make_unique<XmlAnswer>(answer.body, root, "the answer");
    return std::nullopt;
  };
  requests_.perform(std::move(call));
  return read;
}

http::HttpRequest AzureContainer::content_request(const char *method, std::string url) const {
  http::HttpRequest request{.method = method, .url = std::move(url), .compressed = false};
  if (config_.customer_key.empty()) return request;
  request.headers.push_back({"x-ms-encryption-key", to_base64(config_.customer_key)});
  request.headers.push_back(
      {"x-ms-encryption-key-sha256", to_base64(sha256(config_.customer_key))});
  request.headers.push_back({"x-ms-encryption-algorithm", "AES256"});
  return request;
}

void AzureContainer::add_properties(http::HttpRequest &request) const {
  if (!config_.access_tier.empty())
    request.headers.push_back({"x-ms-access-tier", config_.access_tier});
  if (!config_.encryption_scope.empty())
    request.headers.push_back({"x-ms-encryption-scope", config_.encryption_scope});
}

std::string AzureContainer::readable_url_of(const std::string &key) const {
  return dialect_->credentials().readable(url_of(key));
}

}  // namespace det::cloud
