#include "core/cloud/s3/s3_store.h"

#include "core/cloud/s3/credential_sources.h"
#include "core/cloud/s3/s3_bucket.h"

namespace det::cloud {

namespace {

std::shared_ptr<CredentialChain> credentials_of(const S3Options &options) {
  if (options.anonymous) return nullptr;
  std::vector<std::unique_ptr<CredentialSource>> sources;
  if (options.credentials) sources.push_back(given_credentials(*options.credentials));
  else sources.push_back(environment_credentials());
  return std::make_shared<CredentialChain>(std::move(sources));
}

}  // namespace

std::shared_ptr<ObjectStore> open_s3(const Json &config, std::shared_ptr<Logger> logger,
                                     RequestPolicy policy) {
  const S3Options options = S3Options::from(config, *logger);
  return std::make_shared<S3Bucket>(options, credentials_of(options), std::move(logger),
                                    std::move(policy));
}

}  // namespace det::cloud
