// Objects in a bucket of S3, or of a store that speaks its protocol.
#pragma once

#include <memory>

#include "core/base/json_fwd.h"
#include "core/base/log/log.h"
#include "core/cloud/object_store.h"
#include "core/cloud/requests.h"

namespace det::cloud {

// `config` is the object of checkpoint_storage with "type": "s3"; docs/object-stores.md lists its
// keys. Asks nobody yet. Throws Code::invalid, naming the key that is wrong.
std::shared_ptr<ObjectStore> open_s3(const Json &config, std::shared_ptr<Logger> logger,
                                     RequestPolicy policy = {});

}  // namespace det::cloud
