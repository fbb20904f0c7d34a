// All that libdetcore-cloud shows; libdetcore finds it by name (core/storage/cloud_library.cc).
#include "core/base/json.h"
#include "core/cloud/open_bucket.h"
#include "core/storage/cloud_entry.h"

extern "C" {
[[gnu::visibility("default")]] extern const det::storage::CloudEntry det_cloud_entry;
const det::storage::CloudEntry det_cloud_entry{det::storage::cloud_build, &det::cloud::open_bucket};
}
