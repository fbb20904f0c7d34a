// What is in a bucket under an id, by the word of its manifest.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/cloud/bucket.h"
#include "core/storage/storage.h"

namespace det::cloud {

struct StoredFile {
  uint64_t size = 0;
  std::optional<uint64_t> checksum{};
  std::string version{};  // of the object, where only a listing told of it
};

struct StoredCheckpoint {
  std::map<std::string, StoredFile> files;
  std::set<std::string> directories;  // without '/' at the end
  bool has_manifest = false;
  bool is_chunked = false;  // files of it are in chunks

  storage::Resources resources() const;
};

// Nothing where there is none, or none yet. One without a manifest was made by another program, and
// a listing tells what is in it.
std::optional<StoredCheckpoint> find_checkpoint(const Bucket &bucket, const std::string &id);

}  // namespace det::cloud
