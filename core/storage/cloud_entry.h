// What libdetcore-cloud shows to libdetcore. Both are compiled with DET_CLOUD_BUILD.
#pragma once

#include <memory>

#include "core/base/json_fwd.h"
#include "core/base/log/log.h"
#include "core/storage/storage.h"

namespace det::storage {

// The one thing that libdetcore-cloud shows to libdetcore, under the name `cloud_entry_name`.
// Objects of C++ go in and out, so that both must be of one build.
struct CloudEntry {
  const char *build;  // as cloud_build
  std::unique_ptr<Storage> (*open)(const Json &config, std::shared_ptr<Logger> logger);  // throws
};

inline constexpr const char *cloud_entry_name = "det_cloud_entry";
inline constexpr const char *cloud_build = DET_CLOUD_BUILD " " __VERSION__;

}  // namespace det::storage
