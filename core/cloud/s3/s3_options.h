// What checkpoint_storage and the environment say of a bucket, and where it is asked.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "core/base/json_fwd.h"
#include "core/base/log/log.h"
#include "core/cloud/s3/s3_credentials.h"
#include "core/http/http_client.h"

namespace det::cloud {

struct S3Options {
  enum class Addressing { automatic, path, virtual_host };
  enum class Checksum { crc32c, md5 };

  std::string bucket;
  std::string endpoint_url;  // empty: AWS
  std::string region;        // empty: learned from the first answer
  Addressing addressing = Addressing::automatic;
  bool dualstack = false;
  bool fips = false;

  std::optional<Credentials> credentials{};  // explicit ones
  bool anonymous = false;                    // of buckets that everybody may read
  std::string profile;                       // empty: that of the environment

  Checksum checksum = Checksum::crc32c;
  std::optional<bool> sign_payload{};  // unless given: where TLS does not protect it
  bool requester_pays = false;
  std::string sse, sse_kms_key_id;
  std::string storage_class;
  http::TlsOptions tls{};

  http::HttpOptions http() const;  // of requests to the bucket

  // Throws Code::invalid, naming the key or the variable.
  static S3Options from(const Json &config, Logger &logger);
};

// Safe from any thread.
class S3Endpoint {
 public:
  // Throws Code::invalid for an endpoint that is no URL of a server.
  explicit S3Endpoint(const S3Options &options);

  std::string region() const;
  // The bucket turned out to be there. False: that is known already, or it is no name of a region.
  bool move_to(const std::string &region);

  // Of a path below the bucket, with its query: "/key?uploads".
  std::string url(const std::string &path) const;

  // Empty for AWS.
  const std::string &custom() const { return custom_; }
  // By TLS, or nothing leaves this machine.
  bool is_protected() const {
    return custom_.empty() || custom_.starts_with("https:") || is_local_;
  }

 private:
  const std::string bucket_, custom_;
  const bool in_host_;  // the bucket's name
  const bool is_local_;
  const bool dualstack_, fips_;
  mutable std::mutex mutex_;
  std::string region_;
};

}  // namespace det::cloud
