// The deletion of an experiment: its files, then all its records. The store is told first, so that
// nobody starts a trial of it any more, and who repeats it goes on where a killed process stopped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/log/log.h"
#include "core/engine/store.h"

namespace det::engine {

// Where files of an experiment are beside the checkpoints.
struct KeptFiles {
  std::vector<std::string> cluster_ids;  // as cluster_ids_of() gives them
  std::vector<Json> storages;            // as configurations
  // As much those of a store that this one is a copy of: its own are those of the first id.
  std::vector<Json> shared_storages;
};

struct DeletedFiles {
  int64_t checkpoints = 0;
  int64_t size = 0;
};

// Used by any thread.
class ExperimentDeletion {
 public:
  ExperimentDeletion(Store &store, int64_t experiment_id)
      : store_(store), experiment_id_(experiment_id) {}

  // Records that it is being deleted. Throws Code::not_found, or Code::state where it is not over,
  // a process still works on it, or somebody needs its checkpoints.
  KeptFiles begin();
  KeptFiles kept_files();
  // Of its checkpoints. Goes on behind one that cannot be deleted, and then throws what was wrong
  // with the first.
  DeletedFiles delete_files(Logger &logger);
  // It could not be deleted; what is left of it stays.
  void note_failure();
  // All that is left of it in the store and beside it. A few at a time: others write meanwhile.
  void delete_records();

 private:
  Database &records() { return store_.database(); }
  void announce();
  [[noreturn]] void refuse(const std::string &why) const;
  void require_over(const std::string &state);
  void require_unused();
  std::vector<Json> storages();

  Store &store_;
  const int64_t experiment_id_;
};

}  // namespace det::engine
