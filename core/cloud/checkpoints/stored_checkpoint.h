// What is in a bucket under an id, by the word of its manifest.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/cloud/checkpoints/bucket.h"
#include "core/storage/file_transfer.h"
#include "core/storage/storage.h"

namespace det::cloud {

struct StoredFile {
  uint64_t size = 0;
  std::optional<uint64_t> checksum{};
  std::string version{};  // of the object, where only a listing told of it
  std::optional<storage::FileAttributes> attributes{};
};

struct StoredCheckpoint {
  std::map<std::string, StoredFile> files;
  // Without '/' at the end, with their modes where these are known.
  std::map<std::string, std::optional<unsigned>> directories;
  bool has_manifest = false;
  bool is_chunked = false;  // files of it are in chunks

  storage::Resources resources() const;
};

// Nothing where there is none, or none yet. One without a manifest was made by another program, and
// a listing tells what is in it.
std::optional<StoredCheckpoint> find_checkpoint(const Bucket &bucket, const std::string &id);

// Whether find_checkpoint() finds one, told without reading it.
bool is_stored(const Bucket &bucket, const std::string &id);

[[noreturn]] void throw_absent(const Bucket &bucket, const std::string &id);

// Whether it has a manifest. Code::not_found where nothing is stored. One page of a listing tells,
// however many objects there are.
bool has_manifest(const Bucket &bucket, const std::string &id);

}  // namespace det::cloud
