#include "core/cloud/s3/s3_store.h"

#include "core/cloud/s3/credential_sources.h"
#include "core/cloud/s3/s3_bucket.h"

namespace det::cloud {

std::shared_ptr<ObjectStore> open_s3(const Json &config, std::shared_ptr<Logger> logger,
                                     RequestPolicy policy) {
  const S3Options options = S3Options::from(config, *logger);
  return std::make_shared<S3Bucket>(options, credential_chain(options, logger), logger,
                                    std::move(policy));
}

}  // namespace det::cloud
