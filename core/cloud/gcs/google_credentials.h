// Who asks Google's services: application default credentials, as its own libraries find them.
#pragma once

#include <memory>
#include <string>

#include "core/base/json_fwd.h"
#include "core/cloud/gcs/token_service.h"
#include "core/cloud/renewed.h"

namespace det::cloud {

using AccessToken = Renewed<std::string>::Lease;

class GoogleCredentials {
 public:
  virtual ~GoogleCredentials() = default;
  // Blocks. Throws Code::access where they are not taken, Code::unavailable where nobody answers.
  virtual AccessToken fetch() = 0;
  virtual std::string name() const = 0;  // "the service account 'job@project...'"

  std::string quota_project{};  // whom requests are counted for; empty: whose credentials they are
};

// What fetches tokens, and what they are to be good for.
struct TokenContext {
  std::shared_ptr<TokenService> service;
  std::string scope;
  std::string universe = "googleapis.com";
};

// Those of a credentials file, whose JSON begins with a type. `file` is for messages. Throws
// Code::access for what is malformed or of another type.
std::unique_ptr<GoogleCredentials> google_credentials(const Json &file_content,
                                                      const std::string &file,
                                                      const TokenContext &context);

// GOOGLE_APPLICATION_CREDENTIALS, then the file of gcloud, then the metadata server of Google's
// machines. Blocks for a few seconds where there is none of them, and throws Code::access.
std::unique_ptr<GoogleCredentials> application_default_credentials(const TokenContext &context);

}  // namespace det::cloud
