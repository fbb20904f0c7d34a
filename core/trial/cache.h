// A data set in a file, made by the first who asks for it and read by all others.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/base/file.h"
#include "core/storage/storage.h"
#include "core/trial/cache_file.h"
#include "core/trial/cache_writer.h"

namespace det::trial {

// A complete one; of any thread.
class Cache {
 public:
  Cache(Fd file, std::filesystem::path path, const CacheIdentity &identity);

  const CacheIndex &index() const { return contents_.index; }
  const std::string &metadata() const { return contents_.metadata; }
  size_t largest() const { return largest_; }

  // Reads records `first` to `last`, which stand one after the other, and checks them. Throws
  // Code::corrupt, naming the file and the record.
  void read(size_t first, size_t last, char *into) const;

 private:
  const Fd file_;
  const std::filesystem::path path_;
  const CacheContents contents_;
  size_t largest_ = 0;
};

// One of the two: a data set that is there, or what writes it.
struct OpenedCache {
  std::unique_ptr<Cache> cache;
  std::unique_ptr<CacheWriter> writer;
};

// Waits while another process writes it; takes over from one that is gone. No limit: as long as it
// takes. Throws Code::timeout.
OpenedCache open_cache(const std::filesystem::path &root, const CacheIdentity &identity,
                       std::optional<std::chrono::milliseconds> limit);

// The same of a data set in a bucket: what is below `root` is this machine's copy of it, and is
// brought or replaced where it is not that. Writers of several machines do not wait for each other;
// the file of the first one stays. Throws also as the storage does.
OpenedCache open_cache(std::shared_ptr<storage::Storage> storage, const std::filesystem::path &root,
                       const CacheIdentity &identity,
                       std::optional<std::chrono::milliseconds> limit);

}  // namespace det::trial
