// Tokens of Microsoft Entra ID for Azure Storage, as Azure's own libraries find them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/base/log.h"
#include "core/cloud/renewed.h"
#include "core/cloud/requests.h"

namespace det::cloud {

using AzureToken = Renewed<std::string>::Lease;

struct AzureTokenSource {
  std::string name;                   // for messages
  std::function<AzureToken()> fetch;  // blocks; throws Code::access, Code::unavailable
};

struct AzureTokenOptions {
  std::string client_id;  // of the identity, where there are several; empty: AZURE_CLIENT_ID
  http::HttpOptions http;
  RequestPolicy policy{};
};

// The first that is there: a client secret, a workload identity, an identity that the platform
// gives (App Service, Functions, Azure ML), that of this virtual machine, the user of `az login`.
// Blocks for a few seconds where there is none, and gives one without a fetch.
AzureTokenSource find_azure_token_source(const AzureTokenOptions &options,
                                         const std::shared_ptr<Logger> &logger);

}  // namespace det::cloud
