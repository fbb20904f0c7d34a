// Cuts files into chunks and stores those that are new: several files and blocks at once, and each
// byte read once for the cuts, the names and the checksum of the manifest.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/storage/chunks/chunk_list.h"
#include "core/storage/chunks/chunk_memory.h"
#include "core/storage/chunks/chunk_store.h"
#include "core/storage/pool.h"
#include "core/storage/progress.h"

namespace det::storage {

// Whether this file is cut; what is smaller is stored as it is.
bool is_cut(const TreeEntry &entry);

class ChunkSaver {
 public:
  // `condemned`: names that a sweep is about to remove, and that nobody may count on.
  ChunkSaver(ChunkStore &store, std::string owner, const std::set<ChunkName> &condemned,
             ChunkMemory &memory, Progress *progress = Progress::current())
      : store_(store),
        owner_(std::move(owner)),
        condemned_(condemned),
        memory_(memory),
        progress_(progress) {}

  // Once. Links may lead out of `source` unless `confined`. Throws Code::conflict when a file
  // changes meanwhile.
  ChunkedFiles save(const Tree &source, const std::vector<std::string> &paths, bool confined);

  uint64_t new_bytes() const { return new_bytes_; }  // that had to be stored

 private:
  struct File;
  class Block;

  void start(const Tree &source, const std::string &path, bool confined, Buffer &buffer);
  void save_block(File &file, size_t index);
  ChunkName place(ChunkName name, std::string_view bytes, unsigned mode);
  void finish(File &file);

  ChunkStore &store_;
  const std::string owner_;
  const std::set<ChunkName> &condemned_;
  ChunkMemory &memory_;
  Progress *const progress_;  // null: nobody asked
  std::atomic<uint64_t> new_bytes_{0};
  std::mutex mutex_;
  ChunkedFiles done_;
  Pool pool_;  // last: its threads use what stands above
};

}  // namespace det::storage
