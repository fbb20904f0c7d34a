// The places where credentials may be.
#pragma once

#include <memory>

#include "core/cloud/s3/s3_credentials.h"

namespace det::cloud {

std::unique_ptr<CredentialSource> given_credentials(Credentials credentials);

// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN.
std::unique_ptr<CredentialSource> environment_credentials();

}  // namespace det::cloud
