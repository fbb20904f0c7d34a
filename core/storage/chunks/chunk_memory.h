// What the files of the last save were cut into, so that the next one of this process knows what
// has not changed without cutting it and computing SHA-256 again: four times as fast.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/base/hash.h"
#include "core/base/uuid.h"
#include "core/storage/chunks/chunk_list.h"

namespace det::storage {

struct RememberedChunk {
  uint64_t offset = 0;  // in the file
  Hash128 hash;
  Chunk chunk;
};

struct RememberedFile {
  uint64_t size = 0;
  std::vector<std::vector<RememberedChunk>> blocks;  // one for each checksum_block
};

// By path in the checkpoint. Safe from any thread.
class ChunkMemory {
 public:
  Hash128 hash_of(const char *bytes, size_t size) const { return hash128(bytes, size, seed_); }

  std::shared_ptr<const RememberedFile> recall(const std::string &path) const {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(path);
    return found == files_.end() ? nullptr : found->second;
  }

  void keep(const std::string &path, RememberedFile file) {
    auto kept = std::make_shared<const RememberedFile>(std::move(file));
    const std::lock_guard lock(mutex_);
    files_.insert_or_assign(path, std::move(kept));
  }

 private:
  static uint64_t random_seed() {
    const std::string random = make_uuid();
    return checksum64(random.data(), random.size());
  }

  const uint64_t seed_ = random_seed();
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const RememberedFile>> files_;
};

}  // namespace det::storage
