// Many requests to a store in the body of one.
#pragma once

#include <string>
#include <vector>

#include "core/http/message.h"

namespace det::cloud {

// The body of requests that have none of their own, each signed by itself. The number of each is
// told between `before` and `after`.
std::string batch_body(const std::string &boundary, const std::vector<http::HttpRequest> &requests,
                       const char *before = "", const char *after = "");

// What each was answered, in their order: status, headers and body. Throws Code::corrupt unless
// there are `count`; where the service looked at none of them, its one answer stands for all.
std::vector<http::HttpResponse> batch_answers(const http::HttpResponse &answer, size_t count);

}  // namespace det::cloud
