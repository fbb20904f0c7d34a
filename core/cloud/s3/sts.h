// AWS' service that gives credentials for a role.
#pragma once

#include <string>

#include "core/cloud/s3/credential_sources.h"
#include "core/cloud/s3/s3_credentials.h"

namespace det::cloud {

struct RoleRequest {
  std::string role_arn;
  std::string session_name;  // empty: one of ours
  std::string external_id;   // may be empty
  int duration_s = 3600;
};

// Blocks. Throw Code::access with what the service says.
CredentialSource::Lease assume_role(const RoleRequest &role, const Credentials &who,
                                    const CredentialSettings &settings);
CredentialSource::Lease assume_role_by_token(const RoleRequest &role, const std::string &token_file,
                                             const CredentialSettings &settings);

}  // namespace det::cloud
