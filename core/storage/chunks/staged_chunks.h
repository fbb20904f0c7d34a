// What one writer of a checkpoint brings in chunks.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/storage/chunks/chunk_list.h"
#include "core/storage/chunks/chunk_memory.h"
#include "core/storage/chunks/chunk_sweep.h"
#include "core/storage/chunks/directory_chunks.h"

namespace det::storage {

// Shows itself to sweeps by a directory in the tree, `.detcore-chunks/<uuid>`, from its first file
// on until finish_chunk_lists(); in it are the chunks that have no name yet, and its list.
class StagedChunks {
 public:
  // Of the unfinished checkpoint `tree` in the storage `base`; both outlive this.
  StagedChunks(const Tree &base, const Tree &tree, std::shared_ptr<ChunkMemory> memory,
               std::shared_ptr<Logger> logger, bool durable);

  // Durable, and in the list, when this returns.
  void add(const Tree &source, const std::vector<std::string> &paths, bool confined);
  void forget(const std::string &path);  // another file has taken its place
  const ChunkedFiles &files() const { return files_; }

 private:
  void begin();
  void write_list() const;

  const Tree &base_;
  const Tree &tree_;
  const std::shared_ptr<ChunkMemory> memory_;
  const std::shared_ptr<Logger> logger_;
  const bool durable_;
  std::optional<Tree> own_;
  std::optional<DirectoryChunks> chunks_;
  std::set<ChunkName> condemned_;
  ChunkedFiles files_;
};

// Makes the list of a tree of what its writers brought, who then are no savers any more.
void finish_chunk_lists(const Tree &tree, const ChunkedFiles &files);

// Who has the chunks of a checkpoint. Nothing where no file of it is in chunks.
std::optional<uid_t> chunk_owner_of(const Tree &tree);

// Before a list of chunks goes, or some of them from it: says so to the sweeps of their owner in
// the storage `base`. Where they are another's, he finds them with what he removes himself.
void note_garbage_of(const Tree &base, std::optional<uid_t> owner);

// Sweeps the chunks of this user, unless somebody else is at it. `unfinished` is a directory of
// `base`.
void reclaim_chunks(const Tree &base, const Tree &unfinished, Logger &logger);

// The lists and the savers of a storage on a file system.
class DirectoryReferences : public ChunkReferences {
 public:
  // Of the chunks of `owner`; both trees outlive this.
  DirectoryReferences(const Tree &base, const Tree &unfinished, std::string owner, uid_t user)
      : base_(base), unfinished_(unfinished), owner_(std::move(owner)), user_(user) {}

  std::set<ChunkName> named() override;
  std::set<std::string> savers() override;

 private:
  template <class Each>
  void each_directory(const Tree &trees, Each &&each) const;

  const Tree &base_;
  const Tree &unfinished_;
  const std::string owner_;
  const uid_t user_;
};

}  // namespace det::storage
