// The storage in a bucket, by its `checkpoint_storage` object.
#pragma once

#include <memory>

#include "core/base/json_fwd.h"
#include "core/base/log.h"
#include "core/storage/progress.h"
#include "core/storage/storage.h"

namespace det::cloud {

// Of type s3, gcs or azure. `progress` tells what a transfer on the calling thread is counted by.
// Throws Code::invalid for what is wrong in `config`, and Code::access where there are no
// credentials.
std::unique_ptr<storage::Storage> open_bucket(const Json &config, std::shared_ptr<Logger> logger,
                                              storage::Progress *(*progress)());

}  // namespace det::cloud
