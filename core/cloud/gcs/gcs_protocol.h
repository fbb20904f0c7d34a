// How requests to Google Cloud Storage are signed, and what its refusals mean.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/cloud/gcs/gcs_config.h"
#include "core/cloud/gcs/google_credentials.h"
#include "core/cloud/requests.h"

namespace det::cloud {

class GcsProtocol : public Protocol {
 public:
  // `credentials`: null for anonymous requests.
  GcsProtocol(const GcsConfig &config, std::unique_ptr<GoogleCredentials> credentials);

  void sign(http::HttpRequest &request, RequestScope *scope) override;
  Refusal refusal_of(const http::HttpResponse &answer) override;
  void renew(const http::HttpResponse &answer) override;

 private:
  Refusal access_refusal(const http::HttpResponse &answer, const std::string &said) const;

  const std::string bucket_, user_project_;
  const std::unique_ptr<GoogleCredentials> credentials_;
  std::unique_ptr<AccessTokens> token_;
};

// Of a 404, where it is for the bucket and not for an object in it. An emulator does not tell.
std::optional<Refusal> missing_bucket(const http::HttpResponse &answer, const std::string &bucket);

}  // namespace det::cloud
