// Buckets. What they need is a library of its own, libdetcore-cloud, which is loaded with the first
// one.
#pragma once

#include <memory>

#include "core/base/json_fwd.h"
#include "core/base/log/log.h"
#include "core/storage/storage.h"

namespace det::storage {

// From a `checkpoint_storage` object of type s3, gcs or azure. Code::unsupported where the library
// is not there, or of another build.
std::unique_ptr<Storage> open_bucket(const Json &config, std::shared_ptr<Logger> logger);

// Whether it can be loaded: loads it.
bool is_cloud_library_there() noexcept;

}  // namespace det::storage
