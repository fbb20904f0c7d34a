// How requests to S3 are signed, and what its answers mean.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "core/cloud/requests.h"
#include "core/cloud/s3/s3_credentials.h"
#include "core/cloud/s3/s3_options.h"
#include "core/cloud/s3/sigv4.h"
#include "core/http/message.h"

namespace det::cloud {

// The code that names the reason ("NoSuchBucket"); empty where the answer has none.
std::string s3_error_code(const http::HttpResponse &answer);

// Of an answer, also of one with status 200 in which an error stands.
Refusal s3_refusal(const http::HttpResponse &answer);

// Of one key among many, and of what stands in an answer.
Refusal s3_refusal(const std::string &code, const std::string &message, int status);

// The region that the answer points to; empty: it names none.
std::string s3_region_in(const http::HttpResponse &answer);

class S3Protocol : public Protocol {
 public:
  // Without credentials nothing is signed.
  S3Protocol(const S3Options &options, std::shared_ptr<CredentialChain> credentials,
             std::shared_ptr<Logger> logger);

  // The URL of the request is a path below the bucket: a retry may go to another region. The bytes
  // of a source go unsigned, unless their hash stands in x-amz-content-sha256.
  void sign(http::HttpRequest &request, RequestScope *scope) override;
  Refusal refusal_of(const http::HttpResponse &answer) override;
  void renew(const http::HttpResponse &answer) override;

  // What the store says of itself; one that says nothing is none. Asks it once.
  bool is_minio();
  // Whether the bytes of sources are to be hashed.
  bool signs_payload() const { return signs_payload_; }

 private:
  bool says_minio() const;

  const http::HttpOptions http_;
  S3Endpoint endpoint_;
  const std::shared_ptr<CredentialChain> credentials_;
  const std::shared_ptr<Logger> logger_;
  const bool signs_payload_, requester_pays_;
  SigV4 signer_{"s3"};
  StoreClock clock_;
  std::once_flag probed_;
  bool is_minio_ = false;
};

}  // namespace det::cloud
