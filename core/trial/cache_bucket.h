// Where in a bucket a data set is kept, of which each machine has a copy.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/storage/storage.h"
#include "core/trial/cache_file.h"

namespace det::trial {

class CacheBucket {
 public:
  // Throws Code::invalid for a storage that is no bucket.
  CacheBucket(std::shared_ptr<storage::Storage> storage, CacheIdentity identity);

  // The file is there whole, or not at all. False: another machine was faster, and its file stays.
  bool put(const std::filesystem::path &file);

  // Makes `path` what the bucket has, unless it is already; `aside` is used meanwhile, and may be
  // there. False: the bucket has none, whatever is at `path`. Only with the lock of the directory.
  // Throws Code::corrupt, naming the object.
  bool fetch(const std::filesystem::path &path, const std::filesystem::path &aside);

 private:
  std::optional<storage::KeptFile> find();
  bool is_same(const std::filesystem::path &path, const std::filesystem::path &aside,
               uint64_t size);
  void read(const std::filesystem::path &into, uint64_t begin, uint64_t end);

  const std::shared_ptr<storage::Storage> storage_;
  const CacheIdentity identity_;
  const std::string directory_;       // below the prefix of the storage
  const std::filesystem::path name_;  // for messages
};

}  // namespace det::trial
