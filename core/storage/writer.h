// A checkpoint on its way into a directory.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "core/base/fork_guard.h"
#include "core/storage/staging.h"
#include "core/storage/storage.h"
#include "core/storage/transfer.h"

namespace det {

class DirectoryWriter : public CheckpointWriter {
 public:
  // `durable` false leaves syncing to the kernel: for measurements.
  DirectoryWriter(const std::filesystem::path &base, const std::string &id, bool durable);
  ~DirectoryWriter() override;

  const std::string &id() const override { return id_; }
  const std::filesystem::path &path() const override { return tree_.name; }
  void add(const std::filesystem::path &source,
           const std::optional<std::vector<std::string>> &paths) override;
  Resources commit() override;
  void announced() override;
  void abort() override;

 private:
  enum class State { writing, damaged, committed, announced, aborted };

  void require_own_process() const;
  void require_writing(const char *tried) const;
  std::vector<TreeEntry> seal();
  void publish();

  const std::filesystem::path base_;
  const std::string id_;
  const bool durable_;
  const ForkGuard guard_;
  const Staging staging_;
  std::optional<OwnerLock> lock_;
  const Tree tree_;
  State state_ = State::writing;
  std::map<std::string, HashedFile> hashed_;  // while copying, so as not to read again
};

}  // namespace det
