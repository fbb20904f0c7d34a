// What the store knows of a checkpoint.
#pragma once

#include "core/engine/database.h"
#include "core/engine/runs/run_info.h"

namespace det::engine {

// Records a checkpoint that is complete in its storage; the same one again changes nothing. The
// caller holds a transaction. Throws Code::invalid (steps_completed), Code::conflict (another
// checkpoint has this id).
void record_checkpoint(Database &store, const RunInfo &run, const CheckpointReport &report);

// What the next run of a trial goes on from; none where it has no checkpoint whose files are there.
struct LatestCheckpoint {
  std::string uuid;
  int64_t steps = 0;
};
std::optional<LatestCheckpoint> latest_checkpoint(Database &store, int64_t trial_id);

}  // namespace det::engine
