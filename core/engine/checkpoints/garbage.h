// Which checkpoints of an experiment are not worth keeping, and their removal.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/log/log.h"
#include "core/engine/database.h"

namespace det::engine {

// `checkpoint_storage.save_*`: how many of the best validated checkpoints of the experiment and of
// each trial are kept, and how many of the newest of each trial.
struct KeepRule {
  int64_t experiment_best = 0;
  int64_t trial_best = 1;
  int64_t trial_latest = 1;
  // The platform counts all checkpoints without a validation, of whatever trial, as those of one
  // trial. This counts them with their own, as its manual says.
  bool latest_per_trial = false;
};
KeepRule keep_rule(const Json &config);

struct StoredCheckpoint {
  int64_t id = 0;  // the row
  std::string uuid;
  int64_t trial_id = 0;
  int64_t steps = 0;
  int64_t size = 0;
  std::string state;
  std::string resources, storage;  // JSON
};

// In the order of their rows, those deleted before as well. Throws Code::invalid when a validation
// of a checkpoint has a searcher metric that is no number: then nothing can be said.
std::vector<StoredCheckpoint> find_garbage(Database &store, int64_t experiment_id,
                                           const KeepRule &rule);
// By the rule of the experiment's configuration, and without those deleted before.
std::vector<StoredCheckpoint> find_garbage(Database &store, int64_t experiment_id);

// Of a trial that runs: what the rule of its experiment's configuration does not keep now, and what
// somebody began to delete. Without the one from which the trial would go on, and the newest; and
// without what may count once other trials have ended. Those deleted before do not count.
std::vector<StoredCheckpoint> find_superseded(Database &store, int64_t trial_id);

struct Collected {
  std::vector<StoredCheckpoint> deleted;
  size_t failures = 0;  // of checkpoints, each of them logged
};

// Deletes the files of what find_garbage() tells, and records that. What fails is logged and left
// for the next time; so is what a killed process had begun. Throws when it cannot be told what is
// garbage.
Collected delete_garbage(const std::filesystem::path &store_directory, int64_t experiment_id,
                         Logger &logger);

// As delete_garbage(), and logs what that throws.
void collect_garbage(const std::filesystem::path &store_directory, int64_t experiment_id,
                     Logger &logger);

}  // namespace det::engine
