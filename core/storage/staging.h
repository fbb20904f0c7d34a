// `<base>/.partial`: checkpoints that are not visible yet, with the locks of those who write them.
// Everything is reached through the two open directories: whoever may write there may give a name
// to something else between two looks at it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/base/process.h"
#include "core/storage/tree.h"

namespace det {

class Staging {
 public:
  // Opens both, made where they are absent.
  static Staging open(const std::filesystem::path &base);
  // Nothing where there is none.
  static std::optional<Staging> find(const std::filesystem::path &base);

  // What a removed tree is called until it is gone.
  static constexpr const char *removed_prefix = ".removed-";

  const std::filesystem::path &root() const { return root_.name; }
  std::filesystem::path lock_of(const std::string &id) const { return root() / (id + ".lock"); }

  // Makes the empty tree of `id`. The lock is there, and held, before the tree is; `lock` receives
  // it.
  Tree claim(const std::string &id, std::optional<OwnerLock> &lock) const;

  // Opens the tree that another process has claimed.
  Tree join(const std::string &id) const;

  // Shows `tree`, as opened by claim(), under `id`. Throws Code::conflict when the id is taken, or
  // when what would be seen, or is, is not that tree; nothing is visible then.
  void publish(const Tree &tree, const std::string &id) const;

  // Removes the lock file; absent is fine.
  void release(const std::string &id) const;

  // After this, a power cut takes neither what is in the base directory nor the locks.
  void sync_base() const;
  void sync_locks() const;

  // Removes a tree, the visible one out of sight in one step and then piece by piece. False when
  // there is none.
  bool discard_visible(const std::string &id) const { return discard(base_, id); }
  bool discard_staged(const std::string &id) const { return discard(root_, id); }

  // An id whose writer is gone, and the lock taken over from it.
  struct Orphan {
    std::string id;
    OwnerLock lock;
    bool was_staged;  // its tree was here, and is removed
  };
  // Removes what this user began and nobody finishes; gives back the ids of it. What others began
  // is theirs: this process knows no master that could tell about it.
  std::vector<Orphan> sweep(Logger &logger) const;

 private:
  Staging(Tree base, Tree root) : base_(std::move(base)), root_(std::move(root)) {}

  bool discard(const Tree &from, const std::string &id) const;
  bool is_own(const std::string &id, uid_t user) const;
  std::optional<uid_t> user() const;

  Tree base_, root_;
};

}  // namespace det
