// A checkpoint on its way into a directory.
#pragma once

#include <functional>
#include <optional>

#include "core/base/fork_guard.h"
#include "core/storage/share.h"
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
  ~DirectoryWriter() override;

  const std::string &id() const override { return id_; }
  const std::filesystem::path &path() const override { return tree_.name; }
  void add(const std::filesystem::path &source,
           const std::optional<std::vector<std::string>> &paths) override;
  void put(const std::string &name, std::string_view bytes) override;
  void know(const HashedFile &file) override;
  Resources list() const override;
  std::string finish(const std::vector<std::string> &paths) override;
  Resources commit(const std::vector<std::string> &finished) override;
  void announced() override;
  void abort() override;

 private:
  enum class State { writing, damaged, committed, announced, aborted };

  void require_own_process() const;
  void require_writing(const char *tried) const;
  void require_owner(const char *tried) const;
  Resources seal(const HashedFiles &finished);

  const std::string id_;
  const bool durable_;
  const ForkGuard guard_;
  const Staging staging_;  // open as long as this is, like the tree
  const bool owner_;
  std::optional<OwnerLock> lock_;
  const Tree tree_;
  State state_ = State::writing;
  HashedFiles hashed_;  // while copying, so as not to read again
};

}  // namespace det::storage
