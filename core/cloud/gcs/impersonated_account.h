// A service account that others may act as.
#pragma once

#include "core/cloud/gcs/google_credentials.h"

namespace det::cloud {

// Tokens of IAM with them, for this scope.
inline constexpr const char *cloud_platform_scope =
    "https://www.googleapis.com/auth/cloud-platform";

// "job@project.iam.gserviceaccount.com" of ".../serviceAccounts/job@...:generateAccessToken".
std::string impersonated_email(const std::string &url);

// Acts as the account that `url` (…:generateAccessToken) names, by the tokens of `source`, whose
// scope must be that of the cloud platform.
std::unique_ptr<GoogleCredentials> impersonated(std::unique_ptr<GoogleCredentials> source,
                                                const std::string &url, const Json &delegates,
                                                int64_t lifetime_s, const TokenContext &context);

// A file of `gcloud auth application-default login --impersonate-service-account`.
std::unique_ptr<GoogleCredentials> impersonated_account(const Json &content,
                                                        const std::string &file,
                                                        const TokenContext &context);

}  // namespace det::cloud
