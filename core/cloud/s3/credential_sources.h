// The places where credentials may be, in the order in which they are asked.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/cloud/s3/s3_credentials.h"
#include "core/cloud/s3/s3_options.h"
#include "core/http/tls.h"

namespace det::cloud {

// What sources need besides the environment and the files of AWS' tools.
struct CredentialSettings {
  std::string profile;  // by its name
  std::string region;   // of services that are asked
  http::TlsOptions tls{};
  std::shared_ptr<Logger> logger;
};

// Those of an S3 bucket; null where it is asked anonymously.
std::shared_ptr<CredentialChain> credential_chain(const S3Options &options,
                                                  const std::shared_ptr<Logger> &logger);

std::unique_ptr<CredentialSource> given_credentials(Credentials credentials);

// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN.
std::unique_ptr<CredentialSource> environment_credentials();

// A profile with role_arn: the role is taken on with the credentials of its source_profile or
// credential_source, or by its web_identity_token_file. `below` are the profiles that led to it.
std::unique_ptr<CredentialSource> role_credentials(CredentialSettings settings,
                                                   std::vector<std::string> below = {});

// AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN.
std::unique_ptr<CredentialSource> web_identity_credentials(CredentialSettings settings);

// A profile with sso_account_id and sso_role_name, after `aws sso login`.
std::unique_ptr<CredentialSource> sso_credentials(CredentialSettings settings);

// The keys of a profile; what is written there later is seen within two seconds.
std::unique_ptr<CredentialSource> shared_file_credentials(CredentialSettings settings);
std::unique_ptr<CredentialSource> config_file_credentials(CredentialSettings settings);

// A profile with credential_process.
std::unique_ptr<CredentialSource> process_credentials(CredentialSettings settings);

// AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI: ECS, EKS.
std::unique_ptr<CredentialSource> container_credentials(CredentialSettings settings);

// The role of an EC2 instance.
std::unique_ptr<CredentialSource> instance_credentials(CredentialSettings settings);

}  // namespace det::cloud
