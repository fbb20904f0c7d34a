// What ranks finished, on its way to the one that commits, where no collective carries it: files in
// a directory of the tree that they write, which is no part of the checkpoint.
#pragma once

#include <optional>
#include <string>

#include "core/base/process.h"
#include "core/storage/tree.h"

namespace det::storage {

// As CheckpointWriter has them. What the owner has removed with the tree, nobody leaves any more.
class ShareFiles {
 public:
  explicit ShareFiles(const Tree &tree) : tree_(tree) {}

  void promise(int rank);
  void leave(int rank, const std::string &share) const;
  std::optional<std::string> take(int rank) const;

  // The directory; absent is fine.
  void remove() const;

 private:
  std::filesystem::path directory() const { return tree_.name / shares_name; }
  std::filesystem::path promise_of(int rank) const;
  std::optional<std::string> read(int rank) const;

  const Tree &tree_;
  std::optional<OwnerLock> promise_;  // held while this process may still leave it
};

}  // namespace det::storage
