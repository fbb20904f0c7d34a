#include "core/cloud/s3/s3_request.h"

#include "core/base/percent.h"

namespace det::cloud {

http::HttpRequest s3_request(const std::string &method, const std::string &key,
                             const S3Query &query) {
  http::HttpRequest request{.method = method, .url = "/" + percent_encoded(key, "/")};
  for (const auto &[name, value] : query)
    request.url +=
        (&name == &query.front().first ? "?" : "&") + name + "=" + percent_encoded(value);
  request.compressed = false;
  return request;
}

}  // namespace det::cloud
