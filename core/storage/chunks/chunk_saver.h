// Cuts files into chunks and stores those that are new: several files and blocks at once, and each
// byte read once for the cuts, the names and the checksum of the manifest.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/base/hash.h"
#include "core/base/log/log.h"
#include "core/base/uuid.h"
#include "core/storage/chunks/chunks.h"
#include "core/storage/progress.h"
#include "core/storage/tree.h"

namespace det::storage {

// Whether this file is cut; what is smaller is stored as it is.
bool is_cut(const TreeEntry &entry);

struct RememberedChunk {
  uint64_t offset = 0;  // in the file
  Hash128 hash;
  Chunk chunk;
};

struct RememberedFile {
  uint64_t size = 0;
  std::vector<std::vector<RememberedChunk>> blocks;  // one for each checksum_block
};

// What the files of the last save were cut into, by path in the checkpoint, so that the next one of
// this process knows what has not changed without cutting it and computing SHA-256 again: four
// times as fast. Safe from any thread.
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

// One writer of a checkpoint, shown to the sweeps of a storage as long as this is there.
class ChunkTurn {
 public:
  virtual ~ChunkTurn() = default;
  virtual Chunks &chunks() = 0;
  // Stores the list of what the writer has brought, where sweeps find it.
  virtual void publish(const ChunkedFiles &files) = 0;
};

// What one writer of a checkpoint brings in chunks.
class ChunkSaver {
 public:
  // `begin` gives the writer's turn: another each time, or one for all.
  using Begin = std::function<std::shared_ptr<ChunkTurn>()>;

  ChunkSaver(Begin begin, std::shared_ptr<ChunkMemory> memory, std::shared_ptr<Logger> logger)
      : begin_(std::move(begin)), memory_(std::move(memory)), logger_(std::move(logger)) {}

  // In the storage, and in the list, when this returns. Links may lead out of `source` unless
  // `confined`. Throws Code::conflict when a file changes meanwhile. `progress` may be null.
  ChunkedFiles add(const Tree &source, const std::vector<std::string> &paths, bool confined,
                   Progress *progress);
  void forget(const std::string &path);  // another file has taken its place
  const ChunkedFiles &files() const { return files_; }

 private:
  const Begin begin_;
  const std::shared_ptr<ChunkMemory> memory_;
  const std::shared_ptr<Logger> logger_;
  ChunkedFiles files_;
};

}  // namespace det::storage
