// What Google's services say when they refuse something.
#pragma once

#include <string>

#include "core/base/json_fwd.h"
#include "core/http/message.h"

namespace det::cloud {

struct GoogleError {
  std::string reason;   // "invalid_grant", "rateLimitExceeded"; empty: none is told
  std::string message;  // on one line, of bounded length; empty: none is told
};

// Of an answer that may be anything, such as the page of a proxy.
GoogleError google_error(const http::HttpResponse &answer);

// Its JSON object. Throws Code::corrupt, naming nothing of it: there may be a token in it.
Json json_of(const http::HttpResponse &answer);

// A member of it, which must be there: Code::corrupt. Numbers of 64 bits come as strings.
std::string text_member(const Json &object, const char *member);
uint64_t number_member(const Json &object, const char *member);

}  // namespace det::cloud
