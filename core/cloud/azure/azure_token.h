// Tokens of Microsoft Entra ID for Azure Storage, as Azure's own libraries find them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/log/log.h"
#include "core/cloud/refreshable.h"
#include "core/cloud/requests.h"

namespace det::cloud {

using AzureTokens = Refreshable<std::string, RequestScope *>;
using AzureToken = AzureTokens::Lease;

struct AzureTokenSource {
  std::string name;                                 // for messages
  std::function<AzureToken(RequestScope *)> fetch;  // throws Code::access, Code::unavailable
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
                                         const std::shared_ptr<Logger> &logger,
                                         RequestScope *scope);

inline constexpr const char *azure_storage_resource = "https://storage.azure.com/";

// {"access_token", "expires_in", "expires_on"}, numbers also as text. Throws Code::corrupt without
// naming anything of it.
AzureToken azure_token_of(const std::string &json, const std::string &whose);

// Throws Code::access with what the service says against it.
AzureToken ask_for_azure_token(http::HttpRequest request, const std::string &whose,
                               const http::HttpOptions &options, const RequestPolicy &policy,
                               const std::shared_ptr<Logger> &logger, RequestScope *scope);

}  // namespace det::cloud
