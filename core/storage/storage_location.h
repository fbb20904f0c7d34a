// Where a storage lies, read from the configuration or from a path or URI.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/json_fwd.h"

namespace det::storage {

// Whether the section of a configuration says where checkpoints go. Where it says at most how many
// stay, they go into the store's home.
bool says_where(const Json &section);

// The base directory of shared_fs storage (spec 4.4). `storage_path` must lie below `host_path`.
std::filesystem::path shared_directory(const std::string &host_path,
                                       const std::optional<std::string> &storage_path,
                                       const std::optional<std::string> &container_path);

// A prefix of object keys: no "..", no "." or empty components, no '/' at either end.
std::string normalized_prefix(const std::string &prefix);

// The path or URI taken apart: `kind` is shared_fs, s3, gcs or azure.
struct StorageLocation {
  std::string kind;
  std::string path;    // shared_fs
  std::string bucket;  // else; or a container
  std::string prefix;
};

StorageLocation parse_storage_uri(const std::string &uri);

}  // namespace det::storage
