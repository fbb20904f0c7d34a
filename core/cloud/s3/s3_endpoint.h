// Where a bucket is asked.
#pragma once

#include <mutex>
#include <string>

#include "core/cloud/s3/s3_options.h"

namespace det::cloud {

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
