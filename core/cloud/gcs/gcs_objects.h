// Google Cloud Storage as an object store.
#pragma once

#include <memory>

#include "core/base/json_fwd.h"
#include "core/base/log/log.h"
#include "core/cloud/object_store.h"
#include "core/cloud/requests.h"

namespace det::cloud {

// `config` is checkpoint_storage of type gcs: docs/object-stores.md. It reads credentials where the
// Google libraries find them, and throws Code::access where there are none; the bucket is not asked
// before the first call. Code::invalid: what is wrong in `config`.
std::shared_ptr<ObjectStore> open_gcs(const Json &config, std::shared_ptr<Logger> logger,
                                      const RequestPolicy &policy = {});

}  // namespace det::cloud
