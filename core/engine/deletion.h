// The deletion of an experiment: its files, then all its records. The store is told first, so that
// nobody starts a trial of it any more, and who repeats it goes on where a killed process stopped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/log.h"
#include "core/engine/store.h"

namespace det::engine {

// Records that it is being deleted. Throws Code::not_found, or Code::state where it is not over,
// a process still works on it, or somebody needs its checkpoints.
void begin_deletion(Store &store, int64_t experiment_id);

// The storages that files of it may be in, as configurations.
std::vector<Json> storages_of(Database &store, int64_t experiment_id);

struct DeletedFiles {
  int64_t checkpoints = 0;
  int64_t size = 0;
};
// Of its checkpoints. Goes on behind one that cannot be deleted, and then throws what was wrong
// with the first.
DeletedFiles delete_files(Database &store, int64_t experiment_id, Logger &logger);

// One checkpoint. Throws Code::not_found, and Code::state where it is pinned or something starts
// from it.
int64_t delete_checkpoint(Store &store, const std::string &uuid, Logger &logger);
// Throws Code::state where a person keeps it.
void require_unpinned(Database &store, const std::string &uuid);

// It could not be deleted; what is left of it stays.
void note_failed_deletion(Database &store, int64_t experiment_id);

// All that is left of it in the store and beside it. A few at a time: others write meanwhile.
void delete_records(Store &store, int64_t experiment_id);

}  // namespace det::engine
