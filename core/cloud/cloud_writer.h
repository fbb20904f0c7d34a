// A checkpoint on its way into a bucket.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/base/fork_guard.h"
#include "core/cloud/bucket.h"
#include "core/cloud/chunks/sent_chunks.h"
#include "core/cloud/local_directory.h"
#include "core/cloud/share_objects.h"
#include "core/cloud/store_files.h"
#include "core/storage/manifest.h"
#include "core/storage/storage.h"

namespace det::cloud {

class CloudWriter : public storage::CheckpointWriter {
 public:
  enum class Role {
    owner,     // its intent stands
    joined,    // leaves that, and the commit, to the owner
    resuming,  // an owner that goes on with what another process left
  };

  // With `memory`, large files are stored in chunks.
  CloudWriter(std::shared_ptr<const Bucket> bucket, std::string id, Role role,
              std::shared_ptr<storage::ChunkMemory> memory);
  ~CloudWriter() override;

  const std::string &id() const override { return id_; }
  const std::filesystem::path &path() const override;
  // Sent to the bucket from where it is.
  void add(const std::filesystem::path &source,
           const std::optional<std::vector<std::string>> &paths) override;
  // Into path(), from where the commit sends it.
  void copy(const std::filesystem::path &source,
            const std::optional<std::vector<std::string>> &paths) override;
  void put(const std::string &name, std::string_view bytes) override;
  void know(const storage::HashedFile &file) override { known_[file.path] = file; }
  storage::Resources list() const override;
  std::string finish(const std::vector<std::string> &paths) override;
  void promise_share(int rank) override;
  void leave_share(int rank, const std::string &share) override;
  std::optional<std::string> take_share(int rank) override;
  storage::Resources commit(const std::vector<std::string> &finished) override;
  void announced() override;
  void abort() override;

 private:
  enum class State { writing, damaged, committed, announced, aborted };

  const storage::Tree &local() const;
  void require_own_process() const;
  void require_writing(const char *tried) const;
  void send(const storage::Tree &tree, const std::vector<storage::TreeEntry> &entries,
            bool confined);
  std::vector<storage::TreeEntry> written() const;
  void send_chunks(const storage::Tree &tree, const std::vector<storage::TreeEntry> &entries,
                   bool confined);
  void mark_empty_directories(const std::vector<storage::TreeEntry> &entries);
  storage::ManifestText complete(const std::vector<std::string> &finished);
  void write_chunk_list(const std::vector<std::string> &writers, storage::ManifestText &manifest);
  void publish(const storage::ManifestText &manifest);
  bool is_given_up() const;
  void give_up();

  const std::shared_ptr<const Bucket> bucket_;
  const std::string id_;
  const bool is_owner_;
  bool is_taken_ = false;  // the id is another's now
  const ForkGuard guard_;
  const int64_t begun_us_;
  mutable std::optional<LocalDirectory> local_;  // made when somebody writes there
  mutable std::filesystem::path path_;
  State state_ = State::writing;
  bool is_unreachable_ = false;  // the store was, at last
  storage::HashedFiles sent_;    // with directories, which end in '/'
  storage::HashedFiles known_;
  OpenUploads open_;
  std::optional<ShareObjects> shares_;  // of ranks that go on without collectives
  std::optional<SentChunks> chunks_;    // nothing: all files are stored whole
  std::optional<std::map<std::string, ObjectInfo>> standing_;  // of an earlier attempt
};

}  // namespace det::cloud
