// One request for a token, and what is answered.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/cloud/azure/azure_token.h"

namespace det::cloud {

inline constexpr const char *azure_storage_resource = "https://storage.azure.com/";

// {"access_token", "expires_in", "expires_on"}, numbers also as text. Throws Code::corrupt without
// naming anything of it.
AzureToken azure_token_of(const std::string &json, const std::string &whose);

// Throws Code::access with what the service says against it.
AzureToken ask_for_azure_token(http::HttpRequest request, const std::string &whose,
                               const http::HttpOptions &options, const RequestPolicy &policy,
                               const std::shared_ptr<Logger> &logger);

// name=value&...
std::string form_of(const std::vector<std::pair<const char *, std::string>> &fields);

}  // namespace det::cloud
