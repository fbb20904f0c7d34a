// A checkpoint on its way into a directory.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/fork_guard.h"
#include "core/storage/chunks/staged_chunks.h"
#include "core/storage/share.h"
#include "core/storage/share_files.h"
#include "core/storage/spare_files.h"
#include "core/storage/staging.h"
#include "core/storage/storage.h"

namespace det::storage {

class DirectoryWriter : public CheckpointWriter {
 public:
  // `durable` false leaves syncing to the kernel: for measurements.
  DirectoryWriter(Staging staging, const std::string &id, bool durable);

  // One that works in the directory which its owner made, and leaves it to the owner.
  struct Joining {};
  DirectoryWriter(Staging staging, const std::string &id, bool durable, Joining);

  // One that goes on where a process that is gone sealed it, or had committed it. Throws where what
  // is there cannot be relied on any more, and removes it.
  DirectoryWriter(Staging staging, Staging::Sealed sealed, bool durable);
  ~DirectoryWriter() override;

  // From now on, copy() writes over these.
  void reuse(std::shared_ptr<SpareFiles> spares) { spares_ = std::move(spares); }

  // From now on, large files are stored in chunks. Before anything is added.
  void deduplicate(std::shared_ptr<ChunkMemory> memory, std::shared_ptr<Logger> logger);

  const std::string &id() const override { return id_; }
  const std::filesystem::path &path() const override { return tree_.name; }
  void add(const std::filesystem::path &source,
           const std::optional<std::vector<std::string>> &paths) override;
  void copy(const std::filesystem::path &source,
            const std::optional<std::vector<std::string>> &paths) override;
  void put(const std::string &name, std::string_view bytes) override;
  void know(const HashedFile &file) override;
  Resources list() const override;
  std::string finish(const std::vector<std::string> &paths) override;
  void promise_share(int rank) override;
  void leave_share(int rank, const std::string &share) override;
  std::optional<std::string> take_share(int rank) override;
  void seal(const std::string &owner) override;
  Resources commit(const std::vector<std::string> &finished) override;
  void announced() override;
  void abort() override;

 private:
  enum class State { writing, damaged, committed, announced, aborted };

  void require_own_process() const;
  void require_writing(const char *tried) const;
  void require_owner(const char *tried) const;
  std::vector<HashedFile> bring(const std::filesystem::path &source,
                                const std::optional<std::vector<std::string>> &paths,
                                const TransferOptions &options);
  Resources complete(const HashedFiles &finished);
  std::vector<TreeEntry> cut(const Tree &from, std::vector<TreeEntry> entries);
  void cut_staged(const std::vector<TreeEntry> &entries);
  std::set<std::string> finish_in_chunks(const std::vector<std::string> &paths);
  ChunkedFiles finish_chunks(std::vector<TreeEntry> &entries);
  void drop_chunks(const ChunkedFiles &brought, const ChunkedFiles &chunked) const;

  const std::string id_;
  const bool durable_;
  const ForkGuard guard_;
  const Staging staging_;  // open as long as this is, like the tree
  const bool owner_;
  bool was_begun_ = false;      // by a process that is gone
  bool was_committed_ = false;  // by it
  std::optional<OwnerLock> lock_;
  const Tree tree_;
  ShareFiles shares_{tree_};
  State state_ = State::writing;
  std::unique_ptr<StagedChunks> chunks_;  // null: all files are stored whole
  HashedFiles hashed_;                    // while copying, so as not to read again
  std::shared_ptr<SpareFiles> spares_;    // null: none
};

}  // namespace det::storage
