#include <det/base.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "capi/mpi_library.h"
#include "core/storage/cloud_library.h"

#define DET_TEXT_OF(x) #x
#define DET_TEXT(x) DET_TEXT_OF(x)

uint32_t det_version(void) noexcept { return DET_VERSION_NUMBER; }

const char *det_version_string(void) noexcept {
  return DET_TEXT(DET_VERSION_MAJOR) "." DET_TEXT(DET_VERSION_MINOR) "." DET_TEXT(
      DET_VERSION_PATCH);
}

int32_t det_has_feature(const char *name) noexcept {
  if (name == nullptr) return 0;
  if (std::strcmp(name, "mpi") == 0) return is_mpi_library_there() ? 1 : 0;
  const auto is_in = [name](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (is_in({"http", "profiler"})) return 1;
  return is_in({"s3", "gcs", "azure"}) && det::storage::is_cloud_library_there() ? 1 : 0;
}

void det_free(void *memory) noexcept { std::free(memory); }
