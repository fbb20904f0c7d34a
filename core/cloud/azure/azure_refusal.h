// What the refusals of Azure Storage mean.
#pragma once

#include <string>

#include "core/cloud/requests.h"

namespace det::cloud {

// "BlobNotFound"; empty: the answer does not say.
std::string azure_error_code(const http::HttpAnswer &answer);

// Code::access is left without a remedy where it depends on the credentials.
Refusal azure_refusal(const http::HttpAnswer &answer);

// Of a part of a batch, or of a copy that failed.
Refusal azure_refusal(const std::string &code, const std::string &message, int status);

}  // namespace det::cloud
