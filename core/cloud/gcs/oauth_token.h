// Tokens as RFC 6749 gives them out.
#pragma once

#include "core/cloud/gcs/google_credentials.h"

namespace det::cloud {

inline constexpr const char *oauth_token_url = "https://oauth2.googleapis.com/token";

// {"access_token", "expires_in"}. Throws Code::corrupt.
AccessToken token_of(const Json &answer);

// A user's own, of `gcloud auth application-default login` (authorized_user), and of a pool of
// workforce identities (external_account_authorized_user).
std::unique_ptr<GoogleCredentials> refreshed_user(const Json &content, const std::string &file,
                                                  const TokenContext &context);

}  // namespace det::cloud
