// Many requests to Azure Storage in the body of one.
#pragma once

#include <string>
#include <vector>

#include "core/http/message.h"

namespace det::cloud {

// The service takes no more at once.
inline constexpr size_t batch_max = 256;

// The body of requests that have none of their own, each signed by itself.
std::string batch_body(const std::string &boundary, const std::vector<http::HttpRequest> &requests);

// What each was answered, in their order: status, headers and body. Throws Code::corrupt unless
// there are `count`; where the service looked at none of them, its one answer stands for all.
std::vector<http::HttpAnswer> batch_answers(const http::HttpAnswer &answer, size_t count);

}  // namespace det::cloud
