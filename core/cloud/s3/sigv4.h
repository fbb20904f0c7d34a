// AWS Signature Version 4. Not libcurl's: before 7.88 that signs requests to S3 wrongly (it sends
// no x-amz-content-sha256 and leaves the port out of the host), and 7.76 is supported.
#pragma once

#include <ctime>
#include <mutex>
#include <string>

#include "core/cloud/s3/s3_credentials.h"
#include "core/http/message.h"

namespace det::cloud {

inline constexpr const char *unsigned_payload = "UNSIGNED-PAYLOAD";

// Of one service ("s3", "sts"). Safe from any thread.
class SigV4 {
 public:
  explicit SigV4(std::string service) : service_(std::move(service)) {}

  // Adds the headers that prove who asks; all that stand there already are signed too. Path and
  // query of the URL must be encoded as percent_encoded() does. `payload` is the SHA-256 of the
  // body in hexadecimal, or unsigned_payload; `now` is in seconds since 1970.
  void sign(http::HttpRequest &request, const Credentials &credentials, const std::string &region,
            std::time_t now, const std::string &payload);

 private:
  std::string key_of(const Credentials &credentials, const std::string &region,
                     const std::string &day);

  const std::string service_;
  // The key is that of a day, and four HMACs to make.
  std::mutex mutex_;
  std::string made_of_, key_;
};

}  // namespace det::cloud
