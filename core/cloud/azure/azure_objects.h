// The blobs of a container of Azure Blob Storage as an object store.
#pragma once

#include <memory>

#include "core/base/json_fwd.h"
#include "core/base/log/log.h"
#include "core/cloud/object_store.h"

namespace det::cloud {

// `config` is a checkpoint_storage of type azure. Makes the container where it is not there.
// Blocks; throws Code::invalid for a bad config, and what ObjectStore throws.
std::shared_ptr<ObjectStore> open_azure(const Json &config, std::shared_ptr<Logger> logger);

}  // namespace det::cloud
