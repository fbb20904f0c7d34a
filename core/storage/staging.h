// `<base>/.partial`: checkpoints that are not visible yet, with the locks of those who write them.
#pragma once

#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/base/process.h"

namespace det {

class Staging {
 public:
  explicit Staging(const std::filesystem::path &base) : root_(base / ".partial") {}

  const std::filesystem::path &root() const { return root_; }
  std::filesystem::path tree_of(const std::string &id) const { return root_ / id; }
  std::filesystem::path lock_of(const std::string &id) const { return root_ / (id + ".lock"); }

  // Makes the empty tree of `id`. The lock is there, and held, before the tree is.
  OwnerLock claim(const std::string &id) const;

  // Removes the lock file; absent is fine.
  void release(const std::string &id) const;

  // Removes a tree that may be visible: out of sight in one step, then piece by piece. False when
  // there is none.
  bool discard(const std::filesystem::path &tree) const;

  // An id whose writer is gone, and the lock taken over from it.
  struct Orphan {
    std::string id;
    OwnerLock lock;
  };
  // Removes what nobody finishes; gives back the ids whose tree is not here (any more): published
  // before their writer died, or abandoned.
  std::vector<Orphan> sweep(Logger &logger) const;

 private:
  std::filesystem::path root_;
};

}  // namespace det
