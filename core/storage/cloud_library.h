// Buckets. What they need is a library of its own, libdetcore-cloud, which is loaded with the first
// one.
#pragma once

#include <memory>

#include "core/base/json_fwd.h"
#include "core/base/log.h"
#include "core/storage/storage.h"

namespace det::storage {

// From a `checkpoint_storage` object of type s3, gcs or azure. Code::unsupported where the library
// is not there, or of another build.
std::unique_ptr<Storage> open_bucket(const Json &config, std::shared_ptr<Logger> logger);

// Whether it can be loaded: loads it.
bool is_cloud_library_there() noexcept;

// The one thing that libdetcore-cloud shows to libdetcore, under the name `cloud_entry_name`.
// Objects of C++ go in and out, so that both must be of one build.
struct CloudEntry {
  const char *build;  // as cloud_build
  std::unique_ptr<Storage> (*open)(const Json &config, std::shared_ptr<Logger> logger);  // throws
};

inline constexpr const char *cloud_entry_name = "det_cloud_entry";
inline constexpr const char *cloud_build = DET_CLOUD_BUILD " " __VERSION__;

}  // namespace det::storage
