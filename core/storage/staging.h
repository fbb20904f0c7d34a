// `<base>/.partial`: checkpoints that are not visible yet, with the locks of those who write them.
// Everything is reached through the two open directories: whoever may write there may give a name
// to something else between two looks at it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "core/base/process/process.h"
#include "core/storage/tree.h"

namespace det::storage {

class Staging {
 public:
  // Opens both, made where they are absent. `cluster_id` says whose the locks are, which is part of
  // their names; empty: anybody's.
  static Staging open(const std::filesystem::path &base, const std::string &cluster_id);
  // Nothing where there is none.
  static std::optional<Staging> find(const std::filesystem::path &base,
                                     const std::string &cluster_id);

  // What a removed tree is called until it is gone.
  static constexpr const char *removed_prefix = ".removed-";
  static constexpr const char *lock_ending = ".lock";
  static constexpr const char *seal_ending = "@sealed";
  static constexpr char master_mark = '@';  // in the name of a lock; no id has it

  const std::filesystem::path &base() const { return base_.name; }
  const std::filesystem::path &root() const { return root_.name; }
  const Tree &visible() const { return base_; }
  const Tree &unfinished() const { return root_; }
  std::string lock_name(const std::string &id) const { return id + lock_suffix_; }
  std::filesystem::path lock_of(const std::string &id) const { return root() / lock_name(id); }

  // Makes the empty tree of `id`. The lock is there, and held, before the tree is; `lock` receives
  // it.
  Tree claim(const std::string &id, std::optional<OwnerLock> &lock) const;

  // Opens the tree that another process has claimed.
  Tree join(const std::string &id) const;

  // Shows `tree`, as opened by claim(), under `id`. Throws Code::conflict when the id is taken, or
  // when what would be seen, or is, is not that tree; nothing is visible then.
  void publish(const Tree &tree, const std::string &id) const;

  // Keeps the tree of a writer that ends for a later process that names the same owner.
  void seal(const std::string &id, const std::string &owner) const;

  // Removes the lock file and the seal; absent is fine.
  void release(const std::string &id) const;

  // After this, a power cut takes neither what is in the base directory nor the locks.
  void sync_base() const;
  void sync_locks() const;

  // Removes a tree, the visible one out of sight in one step and then piece by piece. False when
  // there is none.
  bool discard_visible(const std::string &id) const { return discard(base_, id); }
  bool discard_staged(const std::string &id) const { return discard(root_, id); }
  // What an interrupted removal has left, by its name.
  void finish_removal(const std::string &name) const;

 private:
  Staging(Tree base, Tree root, const std::string &cluster_id);
  bool discard(const Tree &from, const std::string &id) const;

  Tree base_, root_;
  std::string lock_suffix_;
};

}  // namespace det::storage
