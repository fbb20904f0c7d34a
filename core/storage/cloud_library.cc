#include "core/storage/cloud_library.h"

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/part.h"
#include "core/storage/cloud_entry.h"

namespace det::storage {

namespace {

const CloudEntry &entry() {
  return *static_cast<const CloudEntry *>(
      open_part({"opening a bucket", "libdetcore-cloud.so.0", cloud_entry_name, cloud_build, ""}));
}

}  // namespace

bool is_cloud_library_there() noexcept try {
  entry();
  return true;
} catch (const std::exception &) {
  return false;
}

std::unique_ptr<Storage> open_bucket(const Json &config, std::shared_ptr<Logger> logger) {
  return entry().open(config, std::move(logger));
}

}  // namespace det::storage
