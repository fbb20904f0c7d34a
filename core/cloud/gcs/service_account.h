// The key file of a service account.
#pragma once

#include "core/cloud/gcs/google_credentials.h"

namespace det::cloud {

// Throws Code::access where the file lacks something or its key is none.
std::unique_ptr<GoogleCredentials> service_account(const Json &content, const std::string &file,
                                                   const TokenContext &context);

}  // namespace det::cloud
