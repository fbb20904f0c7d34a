// What did not work, in words.
#pragma once

#include <curl/curl.h>

#include <string>

#include "core/base/error.h"
#include "core/http/http_library.h"
#include "core/http/message.h"

namespace det::http {

// Method and URL, without the query.
std::string asked_of(const HttpRequest &request);

// Throws Code::invalid for what must not or cannot be sent: a URL with a user or password, another
// protocol than HTTP, a header that would break out of its line. Never repeats a secret.
void check_request(const HttpRequest &request);

// For an attempt without an answer; `detail` is what libcurl says besides the code.
Error transfer_error(const Peer &peer, const std::string &asked, CURLcode code,
                     const std::string &detail, int os_errno);

// Whether the same attempt may succeed later.
bool is_transient(CURLcode code);

// For an answer that is no success: the code follows from its status. `reason` is the master's.
Error response_error(const HttpResponse &answer, const std::string &reason);

}  // namespace det::http
