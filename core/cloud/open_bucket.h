// The storage in a bucket, by its `checkpoint_storage` object.
#pragma once

#include <memory>

#include "core/base/json_fwd.h"
#include "core/base/log/log.h"
#include "core/storage/storage.h"

namespace det::cloud {

// Of type s3, gcs or azure. Throws Code::invalid for what is wrong in `config`, and Code::access
// where there are no credentials.
std::unique_ptr<storage::Storage> open_bucket(const Json &config, std::shared_ptr<Logger> logger);

}  // namespace det::cloud
