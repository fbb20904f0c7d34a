// How requests to Azure Storage are signed and its answers understood.
#pragma once

#include <atomic>
#include <memory>

#include "core/cloud/azure/azure_credentials.h"

namespace det::cloud {

class AzureDialect : public Dialect {
 public:
  AzureDialect(std::unique_ptr<AzureCredentials> credentials, std::shared_ptr<Logger> logger);

  void sign(http::HttpRequest &request) override;
  // As sign(), for a request within a batch.
  void sign_part(http::HttpRequest &request);
  Refusal refusal_of(const http::HttpAnswer &answer) override;
  void renew(const http::HttpAnswer &answer) override;

  AzureCredentials &credentials() { return *credentials_; }

 private:
  // How far the clock of this machine is from the store's where that matters; else 0.
  int64_t skew_in(const http::HttpAnswer &answer) const;

  const std::unique_ptr<AzureCredentials> credentials_;
  const std::shared_ptr<Logger> logger_;
  std::atomic<int64_t> clock_behind_{0};  // seconds: what the store's clock says more than ours
};

}  // namespace det::cloud
