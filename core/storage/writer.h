// The one writer of checkpoints: its states, its rules and what it says of a call that breaks them,
// above what each kind of storage does.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/process/fork_guard.h"
#include "core/storage/file_transfer.h"
#include "core/storage/storage.h"

namespace det::storage {

// What a kind of storage does for one checkpoint that is being written; each call as in
// CheckpointWriter, and made only where the Writer allows it. After a throw of add(), copy() or
// finish(), all that follows is discard().
class WriterBackend {
 public:
  virtual ~WriterBackend() = default;

  virtual const std::filesystem::path &path() const = 0;
  virtual void add(const std::filesystem::path &source,
                   const std::optional<std::vector<std::string>> &paths, Progress *progress) = 0;
  virtual void copy(const std::filesystem::path &source,
                    const std::optional<std::vector<std::string>> &paths, Progress *progress) = 0;
  virtual void put(const std::string &name, std::string_view bytes) = 0;
  virtual void know(const HashedFile &file) = 0;
  // `is_written`: it is whole as far as it goes, and must have nothing that no checkpoint may have.
  virtual Resources list(bool is_written) const = 0;
  virtual std::string finish(const std::vector<std::string> &paths, Progress *progress) = 0;
  virtual void promise_share(int rank) = 0;
  virtual void leave_share(int rank, const std::string &share) = 0;
  virtual std::optional<std::string> take_share(int rank) = 0;
  virtual void seal(const std::string & /*owner*/) {}

  // The commit. After a throw it may be visible or not: discard() removes it.
  virtual Resources publish(const std::vector<std::string> &finished, Progress *progress) = 0;
  // What this throws is dropped: a later sweep makes up for it.
  virtual void announced() = 0;
  virtual void discard() = 0;
};

// What one rank finished of a checkpoint that several write, as a message to the one that commits.
std::string pack_share(const HashedFiles &files);
// All shares together; Code::corrupt when one cannot be understood.
HashedFiles unpack_shares(const std::vector<std::string> &shares);

class Writer final : public CheckpointWriter {
 public:
  enum class Role {
    owner,
    joined,    // the commit is another's
    reopened,  // an owner of what a process that is gone has committed
  };

  Writer(std::string id, Role role, std::unique_ptr<WriterBackend> backend);
  ~Writer() override;

  const std::string &id() const override { return id_; }
  const std::filesystem::path &path() const override { return backend_->path(); }
  void add(const std::filesystem::path &source,
           const std::optional<std::vector<std::string>> &paths, Progress *progress) override;
  void copy(const std::filesystem::path &source,
            const std::optional<std::vector<std::string>> &paths, Progress *progress) override;
  void put(const std::string &name, std::string_view bytes) override;
  void know(const HashedFile &file) override;
  Resources list() const override { return backend_->list(state_ == State::writing); }
  std::string finish(const std::vector<std::string> &paths, Progress *progress) override;
  void promise_share(int rank) override;
  void leave_share(int rank, const std::string &share) override;
  std::optional<std::string> take_share(int rank) override;
  void seal(const std::string &owner) override;
  Resources commit(const std::vector<std::string> &finished, Progress *progress) override;
  void announced() override;
  void abort() override;

 private:
  // damaged: a call has thrown in the middle, and nobody can tell what of it is there.
  enum class State { writing, damaged, committed, announced, aborted };

  void require_own_process() const;
  void require_writing(const char *tried) const;
  void require_owner(const char *tried) const;

  const std::string id_;
  const Role role_;
  const ForkGuard guard_;
  const std::unique_ptr<WriterBackend> backend_;
  State state_;
};

}  // namespace det::storage
