// Requests to a bucket, before they are signed.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/http/message.h"

namespace det::cloud {

using S3Query = std::vector<std::pair<std::string, std::string>>;

// Of an object, or of the bucket where `key` is empty. The URL is a path below the bucket, which
// S3Dialect::sign() makes whole.
http::HttpRequest s3_request(const std::string &method, const std::string &key,
                             const S3Query &query = {});

}  // namespace det::cloud
