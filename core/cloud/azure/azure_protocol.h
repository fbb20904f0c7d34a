// How requests to Azure Storage are signed, and what its answers mean.
#pragma once

#include <memory>
#include <string>

#include "core/cloud/azure/azure_credentials.h"
#include "core/cloud/requests.h"

namespace det::cloud {

// "BlobNotFound"; empty: the answer does not say.
std::string azure_error_code(const http::HttpResponse &answer);

// Code::access is left without a remedy where it depends on the credentials.
Refusal azure_refusal(const http::HttpResponse &answer);

// Of a part of a batch, or of a copy that failed.
Refusal azure_refusal(const std::string &code, const std::string &message, int status);

class AzureProtocol : public Protocol {
 public:
  AzureProtocol(std::unique_ptr<AzureCredentials> credentials, std::shared_ptr<Logger> logger);

  void sign(http::HttpRequest &request, RequestScope *scope) override;
  // As sign(), for a request within a batch.
  void sign_part(http::HttpRequest &request, RequestScope *scope);
  Refusal refusal_of(const http::HttpResponse &answer) override;
  void renew(const http::HttpResponse &answer) override;

  AzureCredentials &credentials() { return *credentials_; }

 private:
  const std::unique_ptr<AzureCredentials> credentials_;
  const std::shared_ptr<Logger> logger_;
  StoreClock clock_;
};

}  // namespace det::cloud
