// A private directory of this machine, for a checkpoint on its way into or out of a bucket.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/log/log.h"
#include "core/base/process/fork_guard.h"
#include "core/base/process/process.h"
#include "core/storage/tree.h"

namespace det::cloud {

class LocalDirectory {
 public:
  // `<base>/<name>`, made where it is absent. Processes of one user may share it.
  LocalDirectory(const std::filesystem::path &base, const std::string &name);
  LocalDirectory(const LocalDirectory &) = delete;
  LocalDirectory &operator=(const LocalDirectory &) = delete;
  // The last one removes it. A forked child leaves it to the parent.
  ~LocalDirectory();

  const storage::Tree &tree() const { return *tree_; }
  const std::filesystem::path &path() const { return tree_->name; }

 private:
  const ForkGuard guard_;
  const std::string name_;
  const storage::Tree base_;
  const storage::Tree locks_;
  const std::filesystem::path lock_path_;
  std::optional<OwnerLock> lock_;
  std::optional<storage::Tree> tree_;
};

// Removes the directories in `base` that killed processes of this user have left.
void sweep_local_directories(const std::filesystem::path &base, Logger &logger);

// $TMPDIR, or the next one that this process can write to (spec 4.1).
std::filesystem::path system_temporary_directory();

}  // namespace det::cloud
