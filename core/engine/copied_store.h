// Where a store is, and the stores that it is a copy of, whose files it may have.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/engine/database.h"

namespace det::engine {

// Notes where the store is. A copy of one that is still there receives a cluster id of its own, by
// which storages know whose a file is, and the runs that go on are those of the other. A copy that
// is put where the other was takes its id again.
void note_place(Database &store);

// Of a store that has noted none yet: note_place() then tells whether it is a copy.
void note_earlier_place(Database &store, const std::filesystem::path &home);

// A store that this one was copied from, and up to which record both have the same.
struct Original {
  std::filesystem::path home;  // empty where this store has taken its place
  std::string cluster_id;
  int64_t last_experiment = 0, last_checkpoint = 0;
};

// Files outside of a copy's home that it has from a store that is still there are as much that
// one's.
class CopiedStore {
 public:
  explicit CopiedStore(Database &store);

  bool shares(int64_t checkpoint, const Json &recorded_storage) const;
  // The first one that has it and is still there; null: none.
  const Original *original_of_checkpoint(int64_t checkpoint) const;
  const Original *original_of_experiment(int64_t experiment_id) const;
  // Whether it is outside, where a link on the way to it leads as well.
  bool is_outside(const Json &recorded_storage) const;

 private:
  std::filesystem::path home_;  // of this one, without links
  std::vector<Original> present_;
};

// Throw Code::state where such files would be deleted.
void require_own_files(Database &store, int64_t experiment_id);
void require_own_files(Database &store, const std::string &checkpoint);

// Under which files of an experiment may be kept in a storage: the store's own first, then those of
// the stores that had the experiment before.
std::vector<std::string> cluster_ids_of(Database &store, int64_t experiment_id);

}  // namespace det::engine
