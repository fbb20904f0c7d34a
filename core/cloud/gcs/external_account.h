// Workload identity: what another identity provider says of this job is exchanged for a token.
#pragma once

#include "core/cloud/gcs/google_credentials.h"

namespace det::cloud {

std::unique_ptr<GoogleCredentials> external_account(const Json &content, const std::string &file,
                                                    const TokenContext &context);

}  // namespace det::cloud
