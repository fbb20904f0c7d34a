// The Shared Key signature of Azure Storage.
#pragma once

#include <string>

#include "core/http/message.h"

namespace det::cloud {

// What is signed: the method, the headers that matter, account and path, and the query. `size` is
// that of the body.
std::string shared_key_text(const http::HttpRequest &request, const std::string &account,
                            uint64_t size);

// The Authorization header of a request that has all its others. `key`: bytes, a secret.
std::string shared_key_authorization(const http::HttpRequest &request, const std::string &account,
                                     const std::string &key);

}  // namespace det::cloud
