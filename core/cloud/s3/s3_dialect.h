// How requests to S3 are signed and their answers understood.
#pragma once

#include <atomic>
#include <memory>

#include "core/cloud/requests.h"
#include "core/cloud/s3/s3_credentials.h"
#include "core/cloud/s3/s3_endpoint.h"
#include "core/cloud/s3/s3_options.h"
#include "core/cloud/s3/sigv4.h"

namespace det::cloud {

class S3Dialect : public Dialect {
 public:
  // Without credentials nothing is signed.
  S3Dialect(const S3Options &options, std::shared_ptr<CredentialChain> credentials,
            std::shared_ptr<Logger> logger);

  // The URL of the request is a path below the bucket: a retry may go to another region. The bytes
  // of a source go unsigned, unless their hash stands in x-amz-content-sha256.
  void sign(http::HttpRequest &request) override;
  Refusal refusal_of(const http::HttpAnswer &answer) override;
  void renew(const http::HttpAnswer &answer) override;

  const S3Endpoint &endpoint() const { return endpoint_; }
  // Whether the bytes of sources are to be hashed.
  bool signs_payload() const { return signs_payload_; }

 private:
  S3Endpoint endpoint_;
  const std::shared_ptr<CredentialChain> credentials_;
  const std::shared_ptr<Logger> logger_;
  const bool signs_payload_, requester_pays_;
  SigV4 signer_{"s3"};
  std::atomic<int64_t> clock_behind_{0};  // seconds: what the store's clock says more than ours
};

}  // namespace det::cloud
