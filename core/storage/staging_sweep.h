// What killed processes left in `.partial`: some of it is finished, and the rest removed.
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/log/log.h"
#include "core/base/process/process.h"
#include "core/storage/staging.h"

namespace det::storage {

// Whoever has the lock goes on with the tree.
struct SealedTree {
  std::string id;
  OwnerLock lock;
  bool is_of_this_boot;  // nothing that was written then can have been lost since
};

// An id whose writer is gone, and the lock taken over from it.
struct Orphan {
  std::string id;
  OwnerLock lock;
  bool was_staged;  // its tree was here, and is removed
};

class StagingSweep {
 public:
  StagingSweep(const Staging &staging, Logger &logger) : staging_(staging), logger_(logger) {}

  // Sealed for `owner`, by this user, in processes that are gone.
  std::vector<SealedTree> take_sealed(const std::string &owner) const;

  // Removes what this user began and nobody finishes; gives back the ids of it. What other users
  // began is theirs, and what is visible for another master only that one could tell about.
  std::vector<Orphan> run() const;

 private:
  struct Seal {
    std::string owner, boot_id;
    bool is_old;  // whoever it was for does not come any more
  };
  std::optional<Seal> read_seal(const std::string &id, uid_t user) const;
  std::optional<Orphan> take_over(const std::string &id, const std::set<std::string> &locks,
                                  uid_t user) const;
  void remove_remains(const std::vector<std::string> &names) const;
  void remove_seals(const std::vector<std::string> &ids) const;
  bool is_own(const std::string &id, const std::string &lock, uid_t user) const;
  std::optional<uid_t> user() const;
  const Tree &root() const { return staging_.unfinished(); }

  const Staging &staging_;
  Logger &logger_;
};

}  // namespace det::storage
